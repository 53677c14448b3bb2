//! The number of pending kernels of each user.

use crate::ids::Member;
use crate::shards::Shards;

/// Pending kernels by user, kept up to date as kernels change. A copy shares its unchanged parts with the original.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asking(Shards<Member, u32>);

impl Asking {
    pub fn add(&mut self, member: Member) {
        *self.0.get_or_insert_with(&member, || (member, 0)) += 1;
    }

    pub fn remove(&mut self, member: Member) {
        match self.0.get_mut(&member) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(self.0.remove(&member)),
        }
    }

    pub fn waits(&self, member: Member) -> bool {
        self.0.contains_key(&member)
    }
}
