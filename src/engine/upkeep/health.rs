//! The conditions of the service. `/readyz` shows them, and the log says when each begins and ends.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::domain::time::Timestamp;

/// A fault that lasts until its cause is removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCondition {
    /// The stable code, such as `storage_full`.
    pub code: &'static str,
    /// The fault as a sentence.
    pub detail: String,
    /// True if writes are refused while it lasts.
    pub refuses_writes: bool,
}

/// A condition with the time at which it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastingCondition {
    pub condition: HealthCondition,
    pub since: Timestamp,
}

/// The present conditions by code, and the state of shutting down.
#[derive(Debug, Default)]
pub struct ServiceHealth {
    reasons: Mutex<BTreeMap<&'static str, LastingCondition>>,
    draining: AtomicBool,
}

impl ServiceHealth {
    /// Notes that `condition` holds. If it holds already, its start stays.
    pub fn begin(&self, condition: HealthCondition, now: Timestamp) {
        let mut reasons = self.lock();
        if let Some(known) = reasons.get_mut(condition.code) {
            known.condition = condition;
            return;
        }
        tracing::warn!(code = condition.code, detail = condition.detail, "the service is degraded");
        reasons.insert(condition.code, LastingCondition { condition, since: now });
    }

    /// Notes that the condition is over.
    pub fn end(&self, code: &str) {
        if self.lock().remove(code).is_some() {
            tracing::info!(code, "the condition is over");
        }
    }

    /// True if the condition holds now.
    pub fn holds(&self, code: &str) -> bool {
        self.lock().contains_key(code)
    }

    /// The start of the condition, if it holds now.
    pub fn since(&self, code: &str) -> Option<Timestamp> {
        self.lock().get(code).map(|reason| reason.since)
    }

    /// All present conditions by code.
    pub fn reasons(&self) -> Vec<LastingCondition> {
        self.lock().values().cloned().collect()
    }

    /// The first condition that refuses writes.
    pub fn refuses_writes(&self) -> Option<HealthCondition> {
        self.lock().values().map(|reason| &reason.condition).find(|c| c.refuses_writes).cloned()
    }

    /// Notes that the service shuts down: requests in progress are completed, and new ones should go elsewhere.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, LastingCondition>> {
        self.reasons.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
