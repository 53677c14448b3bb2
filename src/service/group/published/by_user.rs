//! The rows of users, to be found by user and project.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::domain::ids::{Member, UserId};
use crate::domain::ranking::Ranked;
use crate::domain::shards::Shards;

/// The rows of each user, by project. Most users are in one.
#[derive(Clone, Debug)]
pub struct ByUser<R>(Shards<UserId, SmallVec<[Arc<R>; 1]>>);

impl<R> Default for ByUser<R> {
    fn default() -> Self {
        Self(Shards::default())
    }
}

impl<R: Ranked<Id = Member>> ByUser<R> {
    /// Of rows that ascend by user and project.
    pub fn of(rows: &[Arc<R>]) -> Self {
        let by_user = || rows.chunk_by(|a, b| a.id().user == b.id().user);
        let mut users = Shards::with_room_for(by_user().count());
        for of_user in by_user() {
            users.insert(of_user[0].id().user, of_user.iter().cloned().collect());
        }
        Self(users)
    }

    pub fn get(&self, member: Member) -> Option<&Arc<R>> {
        let rows = self.all_of(member.user);
        Some(&rows[place(rows, member).ok()?])
    }

    pub fn all_of(&self, user: UserId) -> &[Arc<R>] {
        self.0.get(&user).map_or(&[], SmallVec::as_slice)
    }

    /// Takes a row, in the place of the one of the same user and project.
    pub fn put(&mut self, row: Arc<R>) {
        let user = row.id().user;
        let rows = self.0.get_or_insert_with(&user, || (user, SmallVec::new()));
        match place(rows, *row.id()) {
            Ok(known) => rows[known] = row,
            Err(at) => rows.insert(at, row),
        }
    }
}

fn place<R: Ranked<Id = Member>>(rows: &[Arc<R>], member: Member) -> Result<usize, usize> {
    rows.binary_search_by_key(&member.project, |row| row.id().project)
}
