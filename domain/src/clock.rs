//! The clock as a parameter. The programs have one that reads the machine's; tests set theirs.

use std::time::Duration;

use crate::time::Timestamp;

pub trait Clock: Send + Sync {
    /// The wall clock of the machine. It may be set while the program runs.
    fn now(&self) -> Timestamp;

    /// A monotonic clock with an arbitrary start. It cannot be set.
    fn steady(&self) -> Duration;
}
