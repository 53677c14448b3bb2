//! A set of values that many owners share, each stored once.

use std::hash::Hash;
use std::sync::Arc;

use hashbrown::Equivalent;

use super::maps::FastSet;

/// At this number of values the set is first searched for unused ones; then at twice the number that was left.
const FIRST_LOOK: usize = 1_024;

/// The set of shared values. A value is removed some time after its last use has ended.
#[derive(Debug)]
pub struct InternPool<T: ?Sized + Hash + Eq> {
    known: FastSet<Arc<T>>,
    look_at: usize,
}

impl<T: ?Sized + Hash + Eq> Clone for InternPool<T> {
    fn clone(&self) -> Self {
        Self { known: self.known.clone(), look_at: self.look_at }
    }
}

impl<T: ?Sized + Hash + Eq> Default for InternPool<T> {
    fn default() -> Self {
        Self { known: FastSet::default(), look_at: FIRST_LOOK }
    }
}

impl<T: ?Sized + Hash + Eq> InternPool<T> {
    /// The shared value that equals `value`; `make` creates it if it is new.
    pub fn get<Q: ?Sized + Hash + Equivalent<Arc<T>>>(&mut self, value: &Q, make: impl FnOnce() -> Arc<T>) -> Arc<T> {
        if let Some(known) = self.known.get(value) {
            return Arc::clone(known);
        }
        if self.known.len() >= self.look_at {
            self.known.retain(|value| Arc::strong_count(value) > 1);
            self.look_at = FIRST_LOOK.max(2 * self.known.len());
        }
        let value = make();
        self.known.insert(Arc::clone(&value));
        value
    }
}
