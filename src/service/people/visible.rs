//! The domains, projects and users that a caller may see.
//!
//! A key that is limited to resource groups sees the people with usage or weights in one of its groups, and a key with
//! the role `user` sees its user. For such a key all other people do not exist: a request about them gets the same
//! answer as one about unknown people, so that no key can find out which people other groups have.

use std::sync::Arc;

use crate::domain::ids::{ProjectId, UserId};
use crate::engine::group::snapshots::GroupSnapshot;
use crate::engine::people::PeopleDirectory;
use crate::service::access::KeyReach;
use crate::service::{Caller, Service};

/// The part of the directory that a caller may see.
pub struct VisiblePeople<'a> {
    people: &'a PeopleDirectory,
    /// The groups of a limited key; `None` if all people are visible.
    groups: Option<Vec<Arc<GroupSnapshot>>>,
    own_user: Option<UserId>,
}

impl VisiblePeople<'_> {
    pub fn has_domain(&self, name: &str) -> bool {
        self.people.domain(name).is_some() && self.in_a_group(|group| group.facts.rows.domain(name).is_some())
    }

    pub fn has_project(&self, id: ProjectId) -> bool {
        self.people.project(id).is_some() && self.in_a_group(|group| group.facts.rows.project(id).is_some())
    }

    pub fn has_user(&self, id: UserId) -> bool {
        let is_own = self.own_user == Some(id);
        self.people.user(id).is_some() && (is_own || self.in_a_group(|group| group.facts.rows.has_user(id)))
    }

    fn in_a_group(&self, has: impl Fn(&GroupSnapshot) -> bool) -> bool {
        self.groups.as_ref().is_none_or(|groups| groups.iter().any(|group| has(group)))
    }
}

impl Service {
    /// The part of `people` that a caller with this reach may see.
    pub(in crate::service) fn visible_people<'a>(
        &self,
        key_reach: &KeyReach,
        people: &'a PeopleDirectory,
    ) -> VisiblePeople<'a> {
        let reached = || {
            let groups = self.engine.published_groups().into_iter();
            groups.filter(|group| key_reach.has_group(&group.facts.name)).collect()
        };
        VisiblePeople { people, groups: key_reach.is_limited().then(reached), own_user: key_reach.own_user() }
    }

    /// The directory, or a copy of the part that a limited key may see. For simulations, which look up people in many places.
    pub(in crate::service) fn seen_people(&self, caller: &Caller) -> Arc<PeopleDirectory> {
        let (people, key_reach) = (self.people(), caller.key_reach());
        if !key_reach.is_limited() {
            return people;
        }
        let visible = self.visible_people(&key_reach, &people);
        let seen = people.only(
            |name| visible.has_domain(name),
            |project| visible.has_project(project),
            |user| visible.has_user(user),
        );
        Arc::new(seen)
    }
}
