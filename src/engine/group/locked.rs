//! Groups that another process keeps locked. Once a request has waited for such a group in vain, the requests behind it are
//! refused without waiting.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::store::{self, StoreError, TransientFault};

/// The time at which a request last waited in vain, by group.
#[derive(Default)]
pub struct LockedElsewhere(Mutex<HashMap<String, Instant>>);

impl LockedElsewhere {
    fn known(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses to wait if another request has waited for the same group in vain a moment ago.
    pub fn check(&self, group: &str) -> store::Result<()> {
        let mut known = self.known();
        known.retain(|_, at| at.elapsed() < store::LOCK_PAUSE);
        if known.contains_key(group) { Err(TransientFault::Busy.refusal().into()) } else { Ok(()) }
    }

    /// Notes the group if the request for its lock has waited in vain.
    pub fn note<T>(&self, group: &str, outcome: &store::Result<T>) {
        if let Err(StoreError::Unavailable { fault: TransientFault::Busy, .. }) = outcome {
            self.known().insert(group.to_owned(), Instant::now());
        }
    }
}
