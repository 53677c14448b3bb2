//! A resource group as one caller may see it. The service gives out a group's data only in this form, so that no endpoint
//! and no GraphQL field can leave out the check of the caller.

use std::ops::Deref;
use std::sync::Arc;

use crate::api::input_warning::InputWarning;
use crate::domain::ids::{Member, Owner, ProjectId, UserId};
use crate::domain::queues::ClaimSums;
use crate::domain::ranking::PlacedRow;
use crate::domain::slots::SlotAmounts;
use crate::engine::group::snapshots::GroupSnapshot;
use crate::engine::group::snapshots::answers::SnapshotAnswers;
use crate::engine::group::snapshots::entitlements::Entitlement;
use crate::engine::group::snapshots::profile::GroupProfile;
use crate::engine::group::snapshots::rows::UserShare;
use crate::engine::group::snapshots::snapshot_data::GroupSnapshotData;
use crate::service::access::{Caller, CallerAccess, KeyReach};
use crate::service::{Error, Result};

/// The snapshot of a group within the reach of the caller's key, limited to what the caller may see. The profile is visible
/// to every such caller.
#[derive(Clone, Debug)]
pub struct VisibleGroup {
    group: Arc<GroupSnapshot>,
    access: CallerAccess,
    key_reach: KeyReach,
    /// Likely mistakes in the write that this group is the answer to.
    of_write: Vec<InputWarning>,
}

impl Deref for VisibleGroup {
    type Target = GroupProfile;

    fn deref(&self) -> &GroupProfile {
        self.group.facts.profile()
    }
}

impl VisibleGroup {
    /// Refuses a group that the key does not reach, whether it exists or not.
    pub(in crate::service) fn new(
        caller: &Caller,
        name: &str,
        find: impl FnOnce() -> Option<Arc<GroupSnapshot>>,
    ) -> Result<Self> {
        caller.require_group(name)?;
        let group = find().ok_or_else(|| Error::unknown_group(name))?;
        Ok(Self { group, access: caller.access(), key_reach: caller.key_reach(), of_write: Vec::new() })
    }

    /// The snapshot, for the service itself.
    pub(in crate::service) fn published(&self) -> &Arc<GroupSnapshot> {
        &self.group
    }

    /// The data of the snapshot, for the service itself.
    pub(in crate::service) fn facts(&self) -> &GroupSnapshotData {
        &self.group.facts
    }

    /// The caller's access rights.
    pub fn access(&self) -> CallerAccess {
        self.access
    }

    /// The groups that the caller's key reaches.
    pub(in crate::service) fn key_reach(&self) -> &KeyReach {
        &self.key_reach
    }

    /// The whole data of the group, for callers who may see more than one user's rows.
    pub fn whole(&self) -> Result<&GroupSnapshotData> {
        self.access.require_reader()?;
        Ok(&self.group.facts)
    }

    /// Whole answers, for callers who may see them.
    pub fn answers(&self) -> Result<&SnapshotAnswers> {
        self.access.require_reader()?;
        Ok(&self.group.live.answers)
    }

    /// The sum of the slots that running kernels hold.
    pub fn in_use(&self) -> SlotAmounts {
        self.sum(|held| &held.allocated)
    }

    /// The sum of the slots that pending kernels ask for.
    pub fn waiting(&self) -> SlotAmounts {
        self.sum(|held| &held.pending)
    }

    fn sum(&self, of: impl Fn(&ClaimSums) -> &SlotAmounts) -> SlotAmounts {
        let mut sum = SlotAmounts::default();
        self.group.facts.demand.iter().for_each(|(_, held)| sum.add(of(held)));
        sum
    }

    /// The shares that the weight of an owner stands for; zero if the group has no row of the owner. The caller must be
    /// allowed to see the row.
    pub fn entitlement(&self, owner: &Owner) -> Entitlement {
        self.group.entitlements().entitlement(owner)
    }

    /// The group with likely mistakes in the write that it is the answer to.
    pub(in crate::service) fn warned(self, of_write: Vec<InputWarning>) -> Self {
        Self { of_write, ..self }
    }

    /// Likely mistakes in the options, and in the write that this group is the answer to.
    pub fn warnings(&self) -> Vec<InputWarning> {
        [self.group.facts.warnings(), self.of_write.clone()].concat()
    }

    /// A strong validator for answers about the scheduler and its options.
    pub fn options_etag(&self) -> String {
        self.group.facts.options_etag()
    }

    /// The users' rows that the caller may see, without archived ones, by rank.
    pub fn ranking(&self) -> impl Iterator<Item = PlacedRow<UserShare>> {
        self.ranked().map(|(rank, row)| PlacedRow::new(rank, Arc::clone(row)))
    }

    /// [`VisibleGroup::ranking`] without a copy of each row, for code that looks at many rows and keeps few.
    pub(in crate::service) fn ranked(&self) -> impl Iterator<Item = (u32, &Arc<UserShare>)> {
        let only = self.access.only_user();
        let users = self.group.facts.rows.users.ranked();
        users.filter(move |(_, u)| !u.hidden && only.is_none_or(|user| user == u.member.user))
    }

    /// The rows of one project's users that the caller may see, best rank first.
    pub fn members_of(&self, project: ProjectId) -> impl Iterator<Item = PlacedRow<UserShare>> {
        let only = self.access.only_user();
        self.group.facts.rows.members_of(project).filter(move |u| only.is_none_or(|user| user == u.member.user))
    }

    /// All projects' rows of one user, best rank first.
    pub fn memberships(&self, user: UserId) -> Result<Vec<PlacedRow<UserShare>>> {
        self.access.require_user(user)?;
        Ok(self.group.facts.rows.memberships(user))
    }

    /// A member's row, if the group has one.
    pub fn user(&self, member: Member) -> Result<Option<PlacedRow<UserShare>>> {
        self.access.require_user(member.user)?;
        Ok(self.group.facts.rows.placed_user(member))
    }
}
