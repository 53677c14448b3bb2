//! The number of pending kernels of each user.

use crate::ids::Member;
use crate::maps::{SharedMap, get_or_default};

/// Pending kernels by user, kept up to date as kernels change. A copy shares its unchanged parts with the original.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PendingCounts(SharedMap<Member, u32>);

impl PendingCounts {
    pub fn add(&mut self, member: Member) {
        *get_or_default(&mut self.0, &member) += 1;
    }

    pub fn remove(&mut self, member: Member) {
        match self.0.get_mut(&member) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                self.0.remove_mut(&member);
            }
        }
    }

    pub fn waits(&self, member: Member) -> bool {
        self.0.contains_key(&member)
    }
}
