//! The clock as a parameter, so that tests can set it.

use std::time::Duration;

use crate::time::Timestamp;

/// A clock: that of the machine, or one that a test sets.
pub trait Clock: Send + Sync {
    /// The wall clock of the machine. It may be set while the program runs.
    fn now(&self) -> Timestamp;

    /// A monotonic clock with an arbitrary start. It cannot be set.
    fn steady(&self) -> Duration;
}
