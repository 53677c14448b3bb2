//! The number of pending kernels of each user.

use crate::ids::Member;
use crate::maps::SharedMap;

/// Pending kernels by user, kept up to date as kernels change. A copy shares its unchanged parts with the original.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asking(SharedMap<Member, u32>);

impl Asking {
    pub fn add(&mut self, member: Member) {
        match self.0.get_mut(&member) {
            Some(count) => *count += 1,
            None => self.0.insert_mut(member, 1),
        }
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
