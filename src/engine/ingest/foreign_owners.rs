//! Projects and users with usage in groups that a report's key does not reach.
//!
//! Users and projects belong to the whole server. A project that moves to another domain moves in every group, and its
//! weights and shares with it. Therefore a report by a key that is limited to resource groups neither moves nor names a
//! project or user that has usage or weights in a group beyond the key's reach. Such a report counts in the domain in
//! which the project is, and what is archived stays so.

use std::sync::Arc;

use crate::domain::ids::{ProjectId, UserId};
use crate::engine::FairShareEngine;
use crate::engine::group::snapshots::GroupSnapshot;

/// By the index of the sender: the groups that its key does not reach.
#[derive(Default)]
pub struct ForeignOwners(Vec<Vec<Arc<GroupSnapshot>>>);

impl ForeignOwners {
    /// `reached` has the only groups that the key of each sender reaches; `None` for all.
    pub fn new(engine: &FairShareEngine, reached: &[Option<&[String]>]) -> Self {
        if reached.iter().all(Option::is_none) {
            return Self::default();
        }
        let groups = engine.published_groups();
        let beyond = |reached: Option<&[String]>| {
            let is_beyond = |group: &GroupSnapshot| {
                reached.is_some_and(|names| names.iter().all(|name| **name != *group.facts.name))
            };
            groups.iter().filter(|group| is_beyond(group)).cloned().collect()
        };
        Self(reached.iter().copied().map(beyond).collect())
    }

    /// True if a group beyond the reach of the sender at `place` has usage or weights of the project.
    pub fn has_project(&self, place: usize, project: ProjectId) -> bool {
        self.beyond(place).any(|group| group.facts.rows.project(project).is_some())
    }

    /// [`Self::has_project`] for users.
    pub fn has_user(&self, place: usize, user: UserId) -> bool {
        self.beyond(place).any(|group| group.facts.rows.has_user(user))
    }

    /// [`Self::has_project`] for domains.
    pub fn has_domain(&self, place: usize, domain: &str) -> bool {
        self.beyond(place).any(|group| group.facts.rows.domain(domain).is_some())
    }

    fn beyond(&self, place: usize) -> impl Iterator<Item = &Arc<GroupSnapshot>> {
        self.0.get(place).into_iter().flatten()
    }
}
