//! The owners in one project that have kernels, and the cached sum over these kernels.

use super::sum::{SumCache, UsageSum};
use super::{GroupCursor, RequestMoment};
use crate::ids::UserId;
use crate::maps::SharedMap;
use crate::run_times::CacheGeneration;
use crate::slots::SlotUsages;
use crate::time::Timestamp;

#[derive(Clone, Debug, Default)]
pub struct ProjectKernels {
    users: SharedMap<UserId, ()>,
    /// The cached sum, valid for a start of the look-back window, a group's cursor and the expected runtimes.
    last: SumCache<(Timestamp, GroupCursor, CacheGeneration)>,
}

impl ProjectKernels {
    pub fn users(&self) -> impl Iterator<Item = UserId> + '_ {
        self.users.iter().map(|(user, ())| *user)
    }

    pub fn add(&mut self, user: UserId) {
        self.users.insert_mut(user, ());
    }

    /// Removes a user. Returns true if any are left.
    pub fn remove(&mut self, user: UserId) -> bool {
        self.users.remove_mut(&user);
        !self.users.is_empty()
    }

    /// Clears the cached sum after a change of kernels.
    pub fn changed(&mut self) {
        self.last = SumCache::default();
    }

    /// The usage and expected usage of all kernels. `make` computes the sum if it is not cached.
    pub fn usage(
        &self,
        moment: RequestMoment,
        recorded: GroupCursor,
        cache_generation: &CacheGeneration,
        make: impl FnOnce() -> UsageSum,
    ) -> SlotUsages {
        self.last.with((moment.since, recorded, cache_generation.clone()), moment.now, make, |sum| sum.at(moment.now))
    }
}
