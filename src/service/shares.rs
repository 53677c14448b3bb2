//! The fair shares of the three tiers: filtered, ordered and paged from the published snapshot, so that one page never
//! mixes two calculations and no list needs SQL.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::input::page::{CursorKey, Page, PageWindow, cut_ordered, cut_window};
use super::people::VisiblePeople;
use super::{Error, Result, Service};
use crate::domain::filter::{Filter, TextMatch, UuidIn};
use crate::domain::hierarchy::Share;
use crate::domain::ids::{Member, Owner, ProjectId, UserId};
use crate::domain::ranking::PlacedRow;
use crate::domain::weight::EffectiveWeight;
use crate::engine::group::snapshots::rows::{DomainShare, ProjectShare, RankedRows, UserShare};
use crate::engine::people::PeopleDirectory;
use crate::service::visible_group::VisibleGroup;
use crate::store::people::Project;
use crate::store::{self, StoreError};

/// A condition on a share of any tier. A tier without the property never meets it.
#[derive(Clone, Debug)]
pub enum ShareCondition {
    Domain(TextMatch),
    Project(UuidIn),
    User(UuidIn),
    /// The name that is shown beside the project's id; a project without a name has none.
    ProjectName(TextMatch),
    UserName(TextMatch),
    /// True if anything was used in the look-back window.
    Active(bool),
}

/// The order of a list of shares; equal ones by id, ascending. The order by name compares names and ids together, so
/// that one direction is the reverse of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareField {
    FairShareFactor,
    EffectiveUsage,
    EffectiveWeight,
    Rank,
    /// The shown name; without a name the id.
    Name,
}

/// The parameters of a list of shares.
#[derive(Clone, Debug)]
pub struct ShareList {
    pub filter: Filter<ShareCondition>,
    pub field: ShareField,
    pub descending: bool,
    pub window: PageWindow,
}

/// The name of a list with one order in page cursors.
pub fn share_list_name(tier: &str, field: ShareField, descending: bool) -> String {
    format!("{tier}-fair-shares/{field:?}/{}", if descending { "desc" } else { "asc" })
}

/// A row of one tier.
pub trait ShareRow: Clone + Send + Sync + 'static {
    fn share(&self) -> &Share;
    /// The key that orders equal rows.
    fn id(&self) -> Vec<CursorKey>;
    fn name(&self) -> Option<&str>;
    fn is_hidden(&self) -> bool;
    fn meets(&self, condition: &ShareCondition) -> bool;
}

impl ShareRow for DomainShare {
    fn share(&self) -> &Share {
        &self.share
    }
    fn id(&self) -> Vec<CursorKey> {
        vec![CursorKey::Text(self.domain_name.to_string())]
    }
    fn name(&self) -> Option<&str> {
        Some(&self.domain_name)
    }
    fn is_hidden(&self) -> bool {
        self.hidden
    }
    fn meets(&self, condition: &ShareCondition) -> bool {
        match condition {
            ShareCondition::Domain(text) => text.holds(&self.domain_name),
            ShareCondition::Active(active) => is_active(&self.share) == *active,
            _ => false,
        }
    }
}

impl ShareRow for ProjectShare {
    fn share(&self) -> &Share {
        &self.share
    }
    fn id(&self) -> Vec<CursorKey> {
        vec![CursorKey::Text(self.project_id.to_string())]
    }
    fn name(&self) -> Option<&str> {
        self.project_name.as_deref()
    }
    fn is_hidden(&self) -> bool {
        self.hidden
    }
    fn meets(&self, condition: &ShareCondition) -> bool {
        match condition {
            ShareCondition::Domain(text) => text.holds(&self.domain_name),
            ShareCondition::Project(ids) => ids.contains(&self.project_id.0),
            ShareCondition::ProjectName(text) => text.holds(self.project_name.as_deref().unwrap_or_default()),
            ShareCondition::Active(active) => is_active(&self.share) == *active,
            ShareCondition::User(_) | ShareCondition::UserName(_) => false,
        }
    }
}

impl ShareRow for UserShare {
    fn share(&self) -> &Share {
        &self.share
    }
    fn id(&self) -> Vec<CursorKey> {
        vec![CursorKey::Text(self.member.user.to_string()), CursorKey::Text(self.member.project.to_string())]
    }
    fn name(&self) -> Option<&str> {
        self.user_name.as_deref()
    }
    fn is_hidden(&self) -> bool {
        self.hidden
    }
    fn meets(&self, condition: &ShareCondition) -> bool {
        match condition {
            ShareCondition::Domain(text) => text.holds(&self.domain_name),
            ShareCondition::Project(ids) => ids.contains(&self.member.project.0),
            ShareCondition::User(ids) => ids.contains(&self.member.user.0),
            ShareCondition::ProjectName(text) => text.holds(self.project_name.as_deref().unwrap_or_default()),
            ShareCondition::UserName(text) => text.holds(self.user_name.as_deref().unwrap_or_default()),
            ShareCondition::Active(active) => is_active(&self.share) == *active,
        }
    }
}

fn is_active(share: &Share) -> bool {
    share.history.normalized_usage > 0.0
}

/// The value that a row is ordered by; it ascends in both directions. A name has none.
fn order_value<T: ShareRow>(rank: u32, row: &T, field: ShareField, descending: bool) -> Option<u64> {
    let share = row.share();
    // Non-negative floats have the same order as their bits.
    let value = match field {
        // The factor falls as the exponent grows, and is never equal where the exponents differ (FAIR_SHARE §2).
        ShareField::FairShareFactor => u64::MAX - share.exponent.sort_key(),
        ShareField::EffectiveUsage => share.history.normalized_usage.to_bits(),
        ShareField::EffectiveWeight => share.effective_weight.to_f64().to_bits(),
        ShareField::Rank => rank.into(),
        ShareField::Name => return None,
    };
    Some(if descending { u64::MAX - value } else { value })
}

/// A row of a list with its rank and the value that it is ordered by. The value is 0 in an order by name.
#[derive(Clone, Debug)]
struct OrderedRow<T> {
    value: u64,
    rank: u32,
    row: Arc<T>,
}

/// The rows of a tier that meet a filter, in the order of a list. Pages are parts of it, so several pages of one list
/// need one scan of the group.
#[derive(Debug)]
pub struct OrderedShares<T> {
    list_name: String,
    field: ShareField,
    descending: bool,
    rows: Vec<OrderedRow<T>>,
}

impl<T: ShareRow> OrderedShares<T> {
    /// Collects the rows that meet the filter of `list`, without archived ones. `are_ranked` is true if the rows are
    /// ordered by rank, then by id, so that most orders need no sort.
    fn collect<B: Borrow<Arc<T>>>(
        tier: &str,
        rows: impl Iterator<Item = (u32, B)>,
        are_ranked: bool,
        list: &ShareList,
    ) -> Self {
        let (field, descending) = (list.field, list.descending);
        let ordered = |(rank, row): (u32, B)| {
            let row: &Arc<T> = row.borrow();
            let is_listed = !row.is_hidden() && list.filter.matches(&|c| row.meets(c));
            let value = order_value(rank, &**row, field, descending).unwrap_or_default();
            is_listed.then(|| OrderedRow { value, rank, row: Arc::clone(row) })
        };
        let mut rows: Vec<OrderedRow<T>> = rows.filter_map(ordered).collect();
        let by_rank = matches!((field, descending), (ShareField::Rank, false) | (ShareField::FairShareFactor, true));
        if field == ShareField::Name {
            rows.sort_by_cached_key(name_key);
        } else if !(are_ranked && by_rank) {
            rows.sort_by(|a, b| a.value.cmp(&b.value).then_with(|| a.row.id().cmp(&b.row.id())));
        }
        Self { list_name: share_list_name(tier, field, descending), field, descending, rows }
    }

    /// The number of rows in the list.
    pub fn count_rows(&self) -> usize {
        self.rows.len()
    }

    /// A page of the list.
    pub fn page(&self, window: &PageWindow) -> Page<PlacedRow<T>> {
        let page = if self.field == ShareField::Name {
            cut_ordered(&self.list_name, &self.rows, name_key, window, self.descending)
        } else {
            let key = |ordered: &OrderedRow<T>| {
                let id = ordered.row.id();
                std::iter::once(CursorKey::Number(ordered.value)).chain(id).collect()
            };
            cut_window(&self.list_name, &self.rows, key, window)
        };
        page.map(|ordered| PlacedRow::new(ordered.rank, ordered.row))
    }
}

fn name_key<T: ShareRow>(ordered: &OrderedRow<T>) -> Vec<CursorKey> {
    let id = ordered.row.id();
    let name = ordered.row.name().map(|name| CursorKey::Text(name.to_owned())).or_else(|| id.first().cloned());
    name.into_iter().chain(id).collect()
}

impl VisibleGroup {
    /// The number of rows that a list of all users reads.
    pub fn count_users(&self) -> usize {
        self.facts().rows.users.len()
    }

    /// The number of rows that a list of one project's users reads.
    pub fn count_members(&self, project: ProjectId) -> usize {
        self.facts().rows.members_of(project).count()
    }

    /// The number of rows that a list of domains reads.
    pub fn count_domains(&self) -> usize {
        self.facts().rows.domains.len()
    }

    /// The number of rows that a list of projects reads.
    pub fn count_projects(&self) -> usize {
        self.facts().rows.count_projects()
    }

    /// The domains of a list, for callers that see more than one user's rows.
    pub fn domain_shares(&self, list: &ShareList) -> Result<OrderedShares<DomainShare>> {
        Ok(OrderedShares::collect("domain", self.whole()?.rows.domains.ranked(), true, list))
    }

    /// The projects of a list, for callers that see more than one user's rows.
    pub fn project_shares(&self, list: &ShareList) -> Result<OrderedShares<ProjectShare>> {
        let rows = self.whole()?.rows.placed_projects().map(PlacedRow::into_parts);
        Ok(OrderedShares::collect("project", rows, false, list))
    }

    /// The users of a list whose rows the caller may see: of one project, or of the group.
    pub fn user_shares(&self, project: Option<ProjectId>, list: &ShareList) -> OrderedShares<UserShare> {
        match project {
            Some(project) => {
                let rows = self.members_of(project).map(PlacedRow::into_parts);
                OrderedShares::collect("user", rows, false, list)
            }
            None => OrderedShares::collect("user", self.ranked(), true, list),
        }
    }
}

impl Service {
    /// The share of a domain. A known domain without a row has used nothing. `None` if the domain is unknown.
    #[tracing::instrument(name = "service.shares.domain_share", level = "debug", skip_all, fields(group = &*group.name), err(level = "debug"))]
    pub async fn domain_share(&self, group: &VisibleGroup, name: &str) -> Result<Option<PlacedRow<DomainShare>>> {
        group.access().require_reader()?;
        self.shares_of(group, [&Owner::Domain(Arc::from(name))]).await?.domain(name)
    }

    /// The share of a project. A known project without a row has used nothing. `None` if the project is unknown.
    #[tracing::instrument(name = "service.shares.project_share", level = "debug", skip_all, fields(group = &*group.name), err(level = "debug"))]
    pub async fn project_share(&self, group: &VisibleGroup, id: ProjectId) -> Result<Option<PlacedRow<ProjectShare>>> {
        group.access().require_reader()?;
        self.shares_of(group, [&Owner::Project(id)]).await?.project(id)
    }

    /// The share of a member. A known user in a known project without a row has used nothing. `None` if the user or the
    /// project is unknown.
    #[tracing::instrument(name = "service.shares.user_share", level = "debug", skip_all, fields(group = &*group.name), err(level = "debug"))]
    pub async fn user_share(&self, group: &VisibleGroup, member: Member) -> Result<Option<PlacedRow<UserShare>>> {
        group.access().require_user(member.user)?;
        self.shares_of(group, [&Owner::User(member)]).await?.user(member)
    }

    /// The shares of `entities` from memory. Only if one of them is unknown, changes of other processes are read from
    /// the database.
    #[tracing::instrument(name = "service.shares.shares_of", level = "debug", skip_all, fields(group = &*group.name), err(level = "debug"))]
    pub async fn shares_of(
        &self,
        group: &VisibleGroup,
        entities: impl IntoIterator<Item = &Owner>,
    ) -> Result<FoundShares> {
        let without_row = WithoutRow::of(&group.facts().rows, entities);
        let mut known = without_row.known(&self.people());
        if !without_row.are_all(&known) {
            // In a box, because it is rare and large.
            Box::pin(self.engine.people.sync(self.store().read())).await?;
            known = without_row.known(&self.people());
        }
        known.keep_visible(&self.visible_people(group.key_reach(), &self.people()));
        Ok(FoundShares { group: group.clone(), known })
    }

    /// True for a user that the caller may know.
    pub fn knows_user(&self, group: &VisibleGroup, user: UserId) -> bool {
        self.visible_people(group.key_reach(), &self.people()).has_user(user)
    }

    /// The place of one user in the group. An unknown user is an error.
    #[tracing::instrument(name = "service.shares.user_place", level = "debug", skip_all, fields(group = &*group.name), err(level = "debug"))]
    pub async fn user_place(&self, group: &VisibleGroup, user: UserId) -> Result<UserPlace> {
        if let Some(best) = group.memberships(user)?.into_iter().next() {
            return Ok(UserPlace::Row(best));
        }
        Box::pin(self.place_without_row(group, user)).await
    }

    /// The place of a user without a row in the group.
    async fn place_without_row(&self, group: &VisibleGroup, user: UserId) -> Result<UserPlace> {
        let key_reach = group.key_reach();
        let groups = self.engine.published_groups().into_iter().filter(|group| key_reach.has_group(&group.facts.name));
        let groups: Vec<_> = groups.collect();
        let elsewhere = groups.iter().flat_map(|group| group.facts.rows.memberships(user)).map(|row| row.member);
        let mut members: BTreeSet<Member> = elsewhere.collect();
        if members.is_empty() && !key_reach.is_limited() {
            // Only the database still knows memberships in deleted groups. A known user gets a place without it, too.
            match store::people::memberships_of(self.store().read(), user).await {
                Ok(found) => members.extend(found),
                Err(StoreError::Unavailable { .. }) if self.people().user(user).is_some() => {}
                Err(error) => return Err(error.into()),
            }
        }
        let entities: Vec<Owner> = members.iter().map(|m| Owner::User(*m)).collect();
        let found = self.shares_of(group, &entities).await?;
        for member in members {
            if let Some(row) = found.user(member)? {
                return Ok(UserPlace::Row(row));
            }
        }
        let people = self.people();
        let is_visible = self.visible_people(key_reach, &people).has_user(user);
        let Some(person) = people.user(user).filter(|_| is_visible) else {
            return Err(Error::NotFound { code: "unknown_user", detail: format!("there is no user {user}") });
        };
        let default = group.options.default_weight;
        let share = group.default_share(EffectiveWeight::product(default, default, default));
        Ok(UserPlace::NoProject { user_name: person.shown().cloned(), share })
    }
}

/// The place of a user in a group.
#[derive(Clone, Debug)]
pub enum UserPlace {
    /// The best row: the ranked one, otherwise the default row of a project that the user belongs to elsewhere.
    Row(PlacedRow<UserShare>),
    /// The user was created before the first project.
    NoProject { user_name: Option<Arc<str>>, share: Share },
}

/// Owners without a row in the group.
#[derive(Default)]
struct WithoutRow {
    domains: BTreeSet<Arc<str>>,
    projects: BTreeSet<ProjectId>,
    users: BTreeSet<UserId>,
}

impl WithoutRow {
    fn of<'a>(rows: &RankedRows, entities: impl IntoIterator<Item = &'a Owner>) -> Self {
        let mut without = Self::default();
        for entity in entities {
            match entity {
                Owner::Domain(name) if rows.domain(name).is_none() => {
                    without.domains.insert(Arc::clone(name));
                }
                Owner::Project(id) if rows.project(*id).is_none() => {
                    without.projects.insert(*id);
                }
                Owner::User(member) if rows.user(*member).is_none() => {
                    without.projects.insert(member.project);
                    without.users.insert(member.user);
                }
                _ => {}
            }
        }
        without
    }

    /// The owners that the directory knows.
    fn known(&self, people: &PeopleDirectory) -> UnusedOwners {
        UnusedOwners {
            domains: self.domains.iter().filter(|name| people.domain(name).is_some()).cloned().collect(),
            projects: self.projects.iter().filter_map(|id| Some((*id, Arc::clone(people.project(*id)?)))).collect(),
            users: self.users.iter().filter_map(|id| Some((*id, people.user(*id)?.shown().cloned()))).collect(),
        }
    }

    fn are_all(&self, known: &UnusedOwners) -> bool {
        (known.domains.len(), known.projects.len(), known.users.len())
            == (self.domains.len(), self.projects.len(), self.users.len())
    }
}

/// Known owners without a row in the group, which have used nothing there.
#[derive(Debug, Default)]
struct UnusedOwners {
    domains: BTreeSet<Arc<str>>,
    projects: BTreeMap<ProjectId, Arc<Project>>,
    /// The users with their shown names.
    users: BTreeMap<UserId, Option<Arc<str>>>,
}

impl UnusedOwners {
    /// Removes owners that the caller may not know.
    fn keep_visible(&mut self, visible: &VisiblePeople) {
        self.domains.retain(|name| visible.has_domain(name));
        self.projects.retain(|id, _| visible.has_project(*id));
        self.users.retain(|id, _| visible.has_user(*id));
    }
}

/// Shares that were looked up together: rows of the group, or default shares of known owners without a row.
#[derive(Debug)]
pub struct FoundShares {
    group: VisibleGroup,
    known: UnusedOwners,
}

impl FoundShares {
    /// The row of the domain, or the default row of a known domain that has none.
    pub fn domain(&self, name: &str) -> Result<Option<PlacedRow<DomainShare>>> {
        let facts = self.group.whole()?;
        let weight = EffectiveWeight::single(facts.options.default_weight);
        Ok(facts.rows.placed_domain(name).or_else(|| {
            let domain_name = Arc::clone(self.known.domains.get(name)?);
            Some(PlacedRow::outside(DomainShare { domain_name, share: facts.default_share(weight), hidden: false }))
        }))
    }

    /// The row of the project, or the default row of a known project that has none.
    pub fn project(&self, id: ProjectId) -> Result<Option<PlacedRow<ProjectShare>>> {
        let facts = self.group.whole()?;
        let weight = EffectiveWeight::single(facts.options.default_weight);
        Ok(facts.rows.placed_project(id).or_else(|| {
            let project = self.known.projects.get(&id)?;
            Some(PlacedRow::outside(ProjectShare {
                project_id: id,
                project_name: project.shown().cloned(),
                domain_name: Arc::clone(&project.domain_name),
                share: facts.default_share(weight),
                hidden: false,
            }))
        }))
    }

    /// The row of the member, or the default row of a known user in a known project that has none.
    pub fn user(&self, member: Member) -> Result<Option<PlacedRow<UserShare>>> {
        let row = self.group.user(member)?;
        let (facts, known) = (self.group.facts(), &self.known);
        Ok(row.or_else(|| {
            let (project, user_name) = (known.projects.get(&member.project)?, known.users.get(&member.user)?);
            let (rows, default) = (&facts.rows, facts.options.default_weight);
            let domain_weight = rows.domain(&project.domain_name).map_or(default, |d| facts.weight(&d.share));
            let project_weight = rows.project(member.project).map_or(default, |p| facts.weight(&p.share));
            let weight = EffectiveWeight::product(domain_weight, project_weight, default);
            Some(PlacedRow::outside(UserShare {
                member,
                user_name: user_name.clone(),
                project_name: project.shown().cloned(),
                domain_name: Arc::clone(&project.domain_name),
                share: facts.default_share(weight),
                hidden: false,
            }))
        }))
    }
}
