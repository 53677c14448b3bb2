//! Groups that another process does not let go: after one has waited for such a group in vain, those that wait behind it do not
//! wait for as long again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::store::{self, Fault, StoreError};

/// When one last waited in vain, by group.
#[derive(Default)]
pub struct LockedElsewhere(Mutex<HashMap<String, Instant>>);

impl LockedElsewhere {
    fn known(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses to wait for what another has just waited for in vain.
    pub fn check(&self, group: &str) -> store::Result<()> {
        let mut known = self.known();
        known.retain(|_, at| at.elapsed() < store::PAUSE);
        if known.contains_key(group) { Err(Fault::Busy.refusal().into()) } else { Ok(()) }
    }

    /// Notes whether one that asked for the group's lock has waited in vain.
    pub fn note<T>(&self, group: &str, outcome: &store::Result<T>) {
        if let Err(StoreError::Unavailable { fault: Fault::Busy, .. }) = outcome {
            self.known().insert(group.to_owned(), Instant::now());
        }
    }
}
