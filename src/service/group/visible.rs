//! A resource group as one caller may see it. Nothing outside of the service gets at a group's data in another way, so
//! that no endpoint and no GraphQL field can forget who asks.

use std::ops::Deref;
use std::sync::Arc;

use super::published::GroupSnapshot;
use super::published::answers::Answers;
use super::published::entitlements::Entitlement;
use super::published::facts::GroupSnapshotData;
use super::published::profile::Profile;
use super::published::rows::UserShare;
use crate::domain::ids::{Member, Owner, ProjectId, UserId};
use crate::domain::queues::Held;
use crate::domain::ranking::Placed;
use crate::domain::slots::Amounts;
use crate::service::input::caller::{Access, Caller, KeyReach};
use crate::service::input::warning::InputWarning;
use crate::service::{Error, Result};

/// The picture of a group that the caller's key reaches, with what the caller may see of it. Its profile is for every such
/// caller.
#[derive(Clone, Debug)]
pub struct VisibleGroup {
    group: Arc<GroupSnapshot>,
    access: Access,
    reach: KeyReach,
    /// Likely mistakes in the write that this follows.
    of_write: Vec<InputWarning>,
}

impl Deref for VisibleGroup {
    type Target = Profile;

    fn deref(&self) -> &Profile {
        self.group.facts.profile()
    }
}

impl VisibleGroup {
    /// Refuses a group that the key does not reach, whether there is such a group or not.
    pub(in crate::service) fn new(
        caller: &Caller,
        name: &str,
        find: impl FnOnce() -> Option<Arc<GroupSnapshot>>,
    ) -> Result<Self> {
        caller.require_group(name)?;
        let group = find().ok_or_else(|| Error::unknown_group(name))?;
        Ok(Self { group, access: caller.access(), reach: caller.reach(), of_write: Vec::new() })
    }

    /// The picture as the service itself works with it.
    pub(in crate::service) fn published(&self) -> &Arc<GroupSnapshot> {
        &self.group
    }

    /// The facts as the service itself works with them.
    pub(in crate::service) fn facts(&self) -> &GroupSnapshotData {
        &self.group.facts
    }

    /// What the caller may do.
    pub fn access(&self) -> Access {
        self.access
    }

    /// The groups that the caller's key reaches.
    pub(in crate::service) fn reach(&self) -> &KeyReach {
        &self.reach
    }

    /// Everything in the group, for callers who may see more than one user's rows.
    pub fn whole(&self) -> Result<&GroupSnapshotData> {
        self.access.require_reader()?;
        Ok(&self.group.facts)
    }

    /// Whole answers, for callers who may see them.
    pub fn answers(&self) -> Result<&Answers> {
        self.access.require_reader()?;
        Ok(&self.group.live.answers)
    }

    /// What running kernels hold together.
    pub fn in_use(&self) -> Amounts {
        self.sum(|held| &held.allocated)
    }

    /// What pending kernels ask for together.
    pub fn waiting(&self) -> Amounts {
        self.sum(|held| &held.pending)
    }

    fn sum(&self, of: impl Fn(&Held) -> &Amounts) -> Amounts {
        let mut sum = Amounts::default();
        self.group.facts.demand.iter().for_each(|(_, held)| sum.add(of(held)));
        sum
    }

    /// What the weight stands for of someone whose row the caller sees; nothing, if the group has no row.
    pub fn entitlement(&self, owner: &Owner) -> Entitlement {
        self.group.entitlements().entitlement(owner)
    }

    /// The group as the answer to a write that looked like a mistake.
    pub(in crate::service) fn warned(self, of_write: Vec<InputWarning>) -> Self {
        Self { of_write, ..self }
    }

    /// Likely mistakes in the options, and in the write that this follows.
    pub fn warnings(&self) -> Vec<InputWarning> {
        [self.group.facts.warnings(), self.of_write.clone()].concat()
    }

    /// A strong validator for answers about the scheduler and its options.
    pub fn options_etag(&self) -> String {
        self.group.facts.options_etag()
    }

    /// The users' rows that the caller may see, without those that are archived, by rank.
    pub fn ranking(&self) -> impl Iterator<Item = Placed<UserShare>> {
        self.ranked().map(|(rank, row)| Placed::new(rank, Arc::clone(row)))
    }

    /// [`VisibleGroup::ranking`], for those who look at many rows and keep few.
    pub(in crate::service) fn ranked(&self) -> impl Iterator<Item = (u32, &Arc<UserShare>)> {
        let only = self.access.only_user();
        let users = self.group.facts.rows.users.ranked();
        users.filter(move |(_, u)| !u.hidden && only.is_none_or(|user| user == u.member.user))
    }

    /// The rows of one project's users that the caller may see, best rank first.
    pub fn members_of(&self, project: ProjectId) -> impl Iterator<Item = Placed<UserShare>> {
        let only = self.access.only_user();
        self.group.facts.rows.members_of(project).filter(move |u| only.is_none_or(|user| user == u.member.user))
    }

    /// All projects' rows of one user, best rank first.
    pub fn memberships(&self, user: UserId) -> Result<Vec<Placed<UserShare>>> {
        self.access.require_user(user)?;
        Ok(self.group.facts.rows.memberships(user))
    }

    /// A member's row, if the group has one.
    pub fn user(&self, member: Member) -> Result<Option<Placed<UserShare>>> {
        self.access.require_user(member.user)?;
        Ok(self.group.facts.rows.placed_user(member))
    }
}
