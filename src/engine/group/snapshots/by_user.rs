//! An index of users' rows by user and project.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::domain::ids::{Member, UserId};
use crate::domain::maps::{SharedMap, get_or_default};
use crate::domain::ranking::RankedRow;

/// The rows of each user, by project. Most users are in one.
#[derive(Clone, Debug)]
pub struct ByUser<R>(SharedMap<UserId, SmallVec<[Arc<R>; 1]>>);

impl<R> Default for ByUser<R> {
    fn default() -> Self {
        Self(SharedMap::default())
    }
}

impl<R: RankedRow<Id = Member>> ByUser<R> {
    /// Indexes rows that ascend by user and project.
    pub fn of(rows: &[Arc<R>]) -> Self {
        let by_user = rows.chunk_by(|a, b| a.id().user == b.id().user);
        Self(by_user.map(|of_user| (of_user[0].id().user, of_user.iter().cloned().collect())).collect())
    }

    pub fn get(&self, member: Member) -> Option<&Arc<R>> {
        let rows = self.all_of(member.user);
        Some(&rows[place(rows, member).ok()?])
    }

    pub fn all_of(&self, user: UserId) -> &[Arc<R>] {
        self.0.get(&user).map_or(&[], SmallVec::as_slice)
    }

    /// Puts a row in the place of the one with the same user and project.
    pub fn put(&mut self, row: Arc<R>) {
        let user = row.id().user;
        let rows = get_or_default(&mut self.0, &user);
        match place(rows, *row.id()) {
            Ok(known) => rows[known] = row,
            Err(at) => rows.insert(at, row),
        }
    }
}

fn place<R: RankedRow<Id = Member>>(rows: &[Arc<R>], member: Member) -> Result<usize, usize> {
    rows.binary_search_by_key(&member.project, |row| row.id().project)
}
