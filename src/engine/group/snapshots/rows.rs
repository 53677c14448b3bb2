//! The rows of a snapshot: the share of each domain, project and user in the group, by rank and by id. Rows that did not
//! change are shared with the snapshot before.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::by_user::ByUser;
use crate::domain::factor::Exponent;
use crate::domain::hierarchy::{Hierarchy, Share};
use crate::domain::ids::{Member, Owner, ProjectId, UserId};
use crate::domain::maps::{FastMap, SharedMap};
use crate::domain::parallel;
use crate::domain::ranking::{PlacedRow, RankedRow, RowRanking};
use crate::engine::people::PeopleDirectory;

/// A domain's row; ranked in the group.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainShare {
    pub domain_name: Arc<str>,
    pub share: Share,
    /// True if archived: left out of lists and rankings. Its usage and factor are still calculated.
    pub hidden: bool,
}

/// A project's row; ranked in its domain.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectShare {
    pub project_id: ProjectId,
    pub project_name: Option<Arc<str>>,
    pub domain_name: Arc<str>,
    pub share: Share,
    /// True if the project or its domain is archived.
    pub hidden: bool,
}

/// A member's row; ranked in the group.
#[derive(Clone, Debug, PartialEq)]
pub struct UserShare {
    pub member: Member,
    pub user_name: Option<Arc<str>>,
    pub project_name: Option<Arc<str>>,
    pub domain_name: Arc<str>,
    pub share: Share,
    /// True if the user, the project or its domain is archived.
    pub hidden: bool,
}

/// A row of one tier.
pub trait TierRow: RankedRow<Id: Clone> + Clone + PartialEq {
    fn share(&self) -> &Share;
    fn owner(&self) -> Owner;
    /// The domain of the row; `None` for the row of a domain.
    fn domain(&self) -> Option<&Arc<str>>;
    /// True if lists and rankings show the row.
    fn is_shown(&self) -> bool;

    /// True if the row equals `other` in all values, including the normalised days.
    fn is_same_as(&self, other: &Self) -> bool {
        self == other && self.share().history.normalized_days == other.share().history.normalized_days
    }
}

macro_rules! ranked {
    ($($row:ident: $id:ident $type:ty, $owner:expr, $domain:expr;)*) => {$(
        impl RankedRow for $row {
            type Id = $type;

            fn exponent(&self) -> Exponent {
                self.share.exponent
            }

            fn id(&self) -> &$type {
                &self.$id
            }
        }

        impl TierRow for $row {
            fn share(&self) -> &Share {
                &self.share
            }

            fn owner(&self) -> Owner {
                let owner: fn(&Self) -> Owner = $owner;
                owner(self)
            }

            fn domain(&self) -> Option<&Arc<str>> {
                let domain: fn(&Self) -> Option<&Arc<str>> = $domain;
                domain(self)
            }

            fn is_shown(&self) -> bool {
                !self.hidden
            }
        }
    )*};
}

ranked! {
    DomainShare: domain_name Arc<str>, |row| Owner::Domain(Arc::clone(&row.domain_name)), |_| None;
    ProjectShare: project_id ProjectId, |row| Owner::Project(row.project_id), |row| Some(&row.domain_name);
    UserShare: member Member, |row| Owner::User(row.member), |row| Some(&row.domain_name);
}

/// All rows are built and ranked once more than about one in four changes, because that takes less time then.
const BUILD_ALL_DIVISOR: usize = 4;

/// All rows by rank, those with equal ranks by id; projects by domain first.
#[derive(Clone, Debug, Default)]
pub struct RankedRows {
    pub domains: RowRanking<DomainShare>,
    pub users: RowRanking<UserShare>,
    projects: BTreeMap<Arc<str>, RowRanking<ProjectShare>>,
    domain_at: SharedMap<Arc<str>, Arc<DomainShare>>,
    project_at: SharedMap<ProjectId, Arc<ProjectShare>>,
    user_at: ByUser<UserShare>,
    /// The indexes of each project's users in the ranking, built for the first request.
    members_of: OnceLock<FastMap<ProjectId, Vec<u32>>>,
    /// The directory's count of changes to people when the rows were built.
    people_changes: u64,
    /// True if the hierarchy has an owner that the directory does not know yet.
    some_unknown: bool,
}

/// Builds rows from shares and the people directory.
struct RowBuilder<'a> {
    hierarchy: &'a Hierarchy,
    people: &'a PeopleDirectory,
}

impl RowBuilder<'_> {
    fn domain(&self, name: &Arc<str>) -> Option<DomainShare> {
        let share = self.hierarchy.domains().get(name)?.clone();
        Some(DomainShare { domain_name: Arc::clone(name), share, hidden: self.people.hides_domain(name) })
    }

    fn project(&self, id: ProjectId) -> Option<ProjectShare> {
        let (domain, share) = self.hierarchy.projects().get(&id)?;
        Some(ProjectShare {
            project_id: id,
            project_name: self.people.project_name(id),
            domain_name: Arc::clone(domain),
            share: share.clone(),
            hidden: self.people.hides_project(id),
        })
    }

    fn user(&self, member: Member, share: &Share, project: &ProjectShare) -> UserShare {
        UserShare {
            member,
            user_name: self.people.user_name(member.user),
            project_name: project.project_name.clone(),
            domain_name: Arc::clone(&project.domain_name),
            share: share.clone(),
            hidden: project.hidden || self.people.hides_user(member.user),
        }
    }

    /// True if the directory does not know an owner of the hierarchy.
    fn is_unknown(&self, owner: &Owner) -> bool {
        match owner {
            Owner::Domain(name) => self.people.domain(name).is_none(),
            Owner::Project(id) => self.people.project(*id).is_none(),
            Owner::User(member) => {
                self.people.user(member.user).is_none() || self.people.project(member.project).is_none()
            }
        }
    }
}

impl RankedRows {
    /// Builds the rows of all owners.
    pub fn build(hierarchy: &Hierarchy, people: &PeopleDirectory) -> Self {
        Self::build_from(&Self::default(), hierarchy, people)
    }

    /// Builds the rows of all owners. Equal rows are shared with those of `before`.
    fn build_from(before: &Self, hierarchy: &Hierarchy, people: &PeopleDirectory) -> Self {
        let make = RowBuilder { hierarchy, people };
        let domain = |name| make.domain(name).map(|row| reuse_row(before.domain(name), row));
        let domains: Vec<_> = hierarchy.domains().keys().filter_map(domain).collect();
        let project = |id: &ProjectId| make.project(*id).map(|row| reuse_row(before.project(*id), row));
        let projects: Vec<_> = hierarchy.projects().keys().filter_map(project).collect();
        let project_at: SharedMap<_, _> = projects.iter().map(|row| (row.project_id, Arc::clone(row))).collect();
        let user = |(member, share): (&Member, &Share)| {
            let row = make.user(*member, share, project_at.get(&member.project)?);
            Some(reuse_row(before.user(*member), row))
        };
        let users: Vec<_> = hierarchy.users().iter().filter_map(user).collect();
        let mut by_domain: BTreeMap<Arc<str>, Vec<Arc<ProjectShare>>> = BTreeMap::new();
        for row in projects {
            by_domain.entry(Arc::clone(&row.domain_name)).or_default().push(row);
        }
        let by_user = || {
            let some_unknown = hierarchy.owners().any(|owner| make.is_unknown(&owner));
            (ByUser::of(&users), some_unknown)
        };
        let by_rank = || RowRanking::of(users.clone());
        let ((user_at, some_unknown), ranking) = parallel::both_of(users.len(), by_user, by_rank);
        Self {
            domain_at: domains.iter().map(|row| (Arc::clone(&row.domain_name), Arc::clone(row))).collect(),
            project_at,
            user_at,
            members_of: OnceLock::new(),
            domains: RowRanking::of(domains),
            projects: by_domain.into_iter().map(|(domain, rows)| (domain, RowRanking::of(rows))).collect(),
            users: ranking,
            people_changes: people.changes(),
            some_unknown,
        }
    }

    /// True if the rows show everyone as the directory has them.
    pub fn show(&self, people: &PeopleDirectory) -> bool {
        self.people_changes == people.changes()
    }

    /// The rows after the shares of `moved` have changed and no others.
    #[must_use]
    pub fn after(&self, moved: &[Owner], hierarchy: &Hierarchy, people: &PeopleDirectory) -> Self {
        let people_are_the_same = self.show(people) && !self.some_unknown;
        let is_gone = |row: &Arc<DomainShare>| !hierarchy.domains().contains_key(&row.domain_name);
        if !people_are_the_same
            || self.domains.iter().any(is_gone)
            || moved.len() > self.users.len() / BUILD_ALL_DIVISOR + BUILD_ALL_DIVISOR
        {
            return Self::build_from(self, hierarchy, people);
        }
        let make = RowBuilder { hierarchy, people };
        let mut next = Self { members_of: OnceLock::new(), ..self.clone() };
        let (mut domains, mut users) = (ReplacedRows::default(), ReplacedRows::default());
        let mut projects: BTreeMap<Arc<str>, ReplacedRows<ProjectShare>> = BTreeMap::new();
        for owner in moved {
            next.some_unknown |= make.is_unknown(owner);
            match owner {
                Owner::Domain(name) => {
                    let Some(row) = make.domain(name) else { continue };
                    if let Some(row) = domains.replace(next.domain(name), row) {
                        next.domain_at.insert_mut(Arc::clone(name), row);
                    }
                }
                Owner::Project(id) => {
                    let Some(row) = make.project(*id) else { continue };
                    let in_domain = projects.entry(Arc::clone(&row.domain_name)).or_default();
                    if let Some(row) = in_domain.replace(next.project(*id), row) {
                        next.project_at.insert_mut(*id, row);
                    }
                }
                Owner::User(member) => {
                    let share = hierarchy.users().get(member);
                    let Some((share, project)) = share.zip(next.project_at.get(&member.project)) else { continue };
                    let row = make.user(*member, share, project);
                    if let Some(row) = users.replace(next.user(*member), row) {
                        next.user_at.put(row);
                    }
                }
            }
        }
        next.domains = domains.ranked(&self.domains);
        next.users = users.ranked(&self.users);
        for (domain, replaced) in projects {
            let ranking = next.projects.entry(domain).or_default();
            *ranking = replaced.ranked(ranking);
        }
        next
    }

    /// All projects, by domain, then by rank.
    pub fn projects(&self) -> impl Iterator<Item = &Arc<ProjectShare>> {
        self.projects.values().flat_map(RowRanking::iter)
    }

    /// The projects of one domain, by rank.
    pub fn projects_in(&self, domain: &str) -> impl Iterator<Item = &Arc<ProjectShare>> {
        self.projects.get(domain).into_iter().flat_map(RowRanking::iter)
    }

    pub fn count_projects_in(&self, domain: &str) -> usize {
        self.projects.get(domain).map_or(0, RowRanking::len)
    }

    /// [`Self::projects`], each with its rank.
    pub fn placed_projects(&self) -> impl Iterator<Item = PlacedRow<ProjectShare>> {
        self.projects.values().flat_map(RowRanking::placed)
    }

    pub fn count_projects(&self) -> usize {
        self.projects.values().map(RowRanking::len).sum()
    }

    pub fn domain(&self, name: &str) -> Option<&Arc<DomainShare>> {
        self.domain_at.get(name)
    }

    pub fn project(&self, id: ProjectId) -> Option<&Arc<ProjectShare>> {
        self.project_at.get(&id)
    }

    pub fn user(&self, member: Member) -> Option<&Arc<UserShare>> {
        self.user_at.get(member)
    }

    pub fn placed_domain(&self, name: &str) -> Option<PlacedRow<DomainShare>> {
        Some(self.domains.place(self.domain(name)?))
    }

    pub fn placed_project(&self, id: ProjectId) -> Option<PlacedRow<ProjectShare>> {
        let row = self.project(id)?;
        Some(self.projects.get(&row.domain_name)?.place(row))
    }

    pub fn placed_user(&self, member: Member) -> Option<PlacedRow<UserShare>> {
        Some(self.users.place(self.user(member)?))
    }

    /// True if the user has a row in some project.
    pub fn has_user(&self, user: UserId) -> bool {
        !self.user_at.all_of(user).is_empty()
    }

    /// All projects' rows of one user, best rank first.
    pub fn memberships(&self, user: UserId) -> Vec<PlacedRow<UserShare>> {
        let mut rows: Vec<_> = self.user_at.all_of(user).iter().map(|row| self.users.place(row)).collect();
        rows.sort_unstable_by_key(|row| (row.rank, row.member));
        rows
    }

    /// The rows of one project's users, best rank first.
    pub fn members_of(&self, project: ProjectId) -> impl Iterator<Item = PlacedRow<UserShare>> {
        let index = self.members_of.get_or_init(|| {
            let mut index: FastMap<ProjectId, Vec<u32>> = FastMap::default();
            for (place, user) in (0..).zip(self.users.iter()) {
                index.entry(user.member.project).or_default().push(place);
            }
            index
        });
        index.get(&project).into_iter().flatten().filter_map(|place| self.users.at(*place))
    }
}

/// The known row if it equals `row`, else `row`.
fn reuse_row<R: TierRow>(known: Option<&Arc<R>>, row: R) -> Arc<R> {
    known.filter(|known| known.is_same_as(&row)).cloned().unwrap_or_else(|| Arc::new(row))
}

/// Rows of one ranking that are replaced by others.
struct ReplacedRows<R> {
    gone: Vec<Arc<R>>,
    come: Vec<Arc<R>>,
}

impl<R> Default for ReplacedRows<R> {
    fn default() -> Self {
        Self { gone: Vec::new(), come: Vec::new() }
    }
}

impl<R: TierRow> ReplacedRows<R> {
    /// Replaces the known row and returns the new one; `None` if both are equal.
    fn replace(&mut self, known: Option<&Arc<R>>, row: R) -> Option<Arc<R>> {
        if known.is_some_and(|known| known.is_same_as(&row)) {
            return None;
        }
        let row = Arc::new(row);
        self.gone.extend(known.cloned());
        self.come.push(Arc::clone(&row));
        Some(row)
    }

    fn ranked(self, before: &RowRanking<R>) -> RowRanking<R> {
        if self.come.is_empty() { before.clone() } else { before.changed(self.gone, self.come) }
    }
}
