//! The owners in one project who have kernels, and what all of those come to.

use super::sum::{Last, Sum};
use super::{Moment, Recorded};
use crate::ids::UserId;
use crate::maps::SharedMap;
use crate::run_times::Edition;
use crate::slots::Usages;
use crate::time::Timestamp;

#[derive(Clone, Debug, Default)]
pub struct Roster {
    users: SharedMap<UserId, ()>,
    /// By the start of the look-back window and the end of what is recorded.
    last: Last<(Timestamp, Recorded, Edition)>,
}

impl Roster {
    pub fn users(&self) -> impl Iterator<Item = UserId> + '_ {
        self.users.iter().map(|(user, ())| *user)
    }

    pub fn add(&mut self, user: UserId) {
        self.users.insert_mut(user, ());
    }

    /// Whether any are left.
    pub fn remove(&mut self, user: UserId) -> bool {
        self.users.remove_mut(&user);
        !self.users.is_empty()
    }

    /// Notes that kernels have changed.
    pub fn changed(&mut self) {
        self.last = Last::default();
    }

    /// What all kernels have used and will still use; `make` adds them up.
    pub fn usage(&self, moment: Moment, recorded: Recorded, edition: &Edition, make: impl FnOnce() -> Sum) -> Usages {
        self.last.with((moment.since, recorded, edition.clone()), moment.now, make, |sum| sum.at(moment.now))
    }
}
