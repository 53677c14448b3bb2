//! What every user used in the last days, as the last calculation left it.

use crate::domain::fairness::Recent;
use crate::domain::ids::Member;
use crate::domain::shards::Shards;
use crate::domain::time::Day;

/// In days of the group's capacity; a copy shares what does not change.
#[derive(Clone, Debug)]
pub struct RecentUsage {
    /// The last of the days.
    pub today: Day,
    /// How far back usage is known, in days.
    pub reach: u32,
    users: Shards<Member, Recent>,
}

impl RecentUsage {
    pub fn of(
        today: Day,
        reach: u32,
        members: impl Iterator<Item = Member>,
        used: impl FnMut(Member) -> Recent,
    ) -> Self {
        Self { today, reach, users: Shards::default() }.with(members, used)
    }

    /// The same, with what is known of `members` made anew.
    #[must_use]
    pub fn with(mut self, members: impl Iterator<Item = Member>, mut used: impl FnMut(Member) -> Recent) -> Self {
        for member in members {
            self.users.insert(member, used(member));
        }
        self
    }

    /// Over so many days, one of the lengths that are kept; `None`: so long ago is not known.
    pub fn over(&self, member: Member, days: u32) -> Option<f64> {
        if days > self.reach {
            return None;
        }
        self.users.get(&member).copied().unwrap_or_default().over(days)
    }
}
