//! Projects and users with usage in groups that a report's key does not reach.
//!
//! Users and projects belong to the whole server. A project that moves to another domain moves in every group, and its
//! weights and shares with it. Therefore a report by a key that is limited to resource groups neither moves nor names a
//! project or user that has usage or weights in a group beyond the key's reach. Such a report counts in the domain in
//! which the project is.

use std::sync::Arc;

use crate::domain::ids::{ProjectId, UserId};
use crate::service::group::snapshots::GroupSnapshot;
use crate::service::{Caller, Service};

/// By the index of the caller: the groups that it does not reach.
#[derive(Default)]
pub struct ForeignOwners(Vec<Vec<Arc<GroupSnapshot>>>);

impl ForeignOwners {
    pub fn new(service: &Service, callers: &[&Caller]) -> Self {
        if callers.iter().all(|caller| caller.principal.groups.is_none()) {
            return Self::default();
        }
        let groups = service.published_groups();
        let beyond =
            |caller: &&Caller| groups.iter().filter(|group| !caller.reaches(&group.facts.name)).cloned().collect();
        Self(callers.iter().map(beyond).collect())
    }

    /// True if a group beyond the reach of the caller at `place` has usage or weights of the project.
    pub fn has_project(&self, place: usize, project: ProjectId) -> bool {
        self.beyond(place).any(|group| group.facts.rows.project(project).is_some())
    }

    /// [`Self::has_project`] for users.
    pub fn has_user(&self, place: usize, user: UserId) -> bool {
        self.beyond(place).any(|group| group.facts.rows.has_user(user))
    }

    fn beyond(&self, place: usize) -> impl Iterator<Item = &Arc<GroupSnapshot>> {
        self.0.get(place).into_iter().flatten()
    }
}
