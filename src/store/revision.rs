//! The revision of data that is stored and that servers keep in memory: a number that grows with each write, and a random
//! tag that each write sets together with it.
//!
//! Two states can have the same number. A database can be taken back to an earlier state while servers go on: by a failover
//! to a standby that lacks the last transactions, by a recovery to a point in time, or by a dump that is restored. The
//! following writes get numbers that servers have seen before, of states that are lost. Therefore two revisions are equal
//! only if both number and tag are, and this type compares both. See "A database that goes back" in `docs/OPERATIONS.md`.

use std::fmt;

use crate::process::random;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaggedRevision {
    number: i64,
    tag: i32,
}

impl TaggedRevision {
    /// The revision as it is stored.
    pub const fn stored(number: i64, tag: i32) -> Self {
        Self { number, tag }
    }

    /// The revision of the next write.
    #[must_use]
    pub fn next(self) -> Self {
        Self { number: self.number + 1, tag: random::tag() }
    }

    pub fn number(self) -> i64 {
        self.number
    }

    pub fn tag(self) -> i32 {
        self.tag
    }

    /// True if writes alone cannot have led from `seen` to this revision: the database was taken back in between.
    pub fn contradicts(self, seen: Self) -> bool {
        self.number < seen.number || (self.number == seen.number && self.tag != seen.tag)
    }
}

/// The text in validators and in the revision of a configuration.
impl fmt::Display for TaggedRevision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:08x}", self.number, self.tag)
    }
}
