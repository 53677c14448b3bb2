//! Finds the domain, project or user that a request for an explanation is about, and its row.

use std::sync::Arc;

use super::ExplainInput;
use super::answer::EntityRef;
use crate::domain::hierarchy::Share;
use crate::domain::ids::{Member, Owner, ProjectId, UserId};
use crate::domain::names::UNKNOWN_DOMAIN;
use crate::domain::ranking::PlacedRow;
use crate::domain::tier::Tier;
use crate::domain::weight::EffectiveWeight;
use crate::engine::group::snapshots::rows::{DomainShare, ProjectShare, UserShare};
use crate::engine::people::lookup;
use crate::service::sequence::waiting::PendingEntry;
use crate::service::shares::UserPlace;
use crate::service::{Error, Fault, Result, Service, VisibleGroup};

/// The domain, project or user that a request names.
#[derive(Clone, Debug)]
pub(super) enum ExplainTarget {
    Domain(Arc<str>),
    Project(ProjectId),
    /// A user; without a project, the user's best-ranked one.
    User(UserId, Option<ProjectId>),
}

/// A row of one of the tiers.
pub(super) enum ExplainedRow {
    Domain(PlacedRow<DomainShare>),
    Project(PlacedRow<ProjectShare>),
    User(PlacedRow<UserShare>),
}

impl ExplainedRow {
    pub fn share(&self) -> &Share {
        match self {
            Self::Domain(row) => &row.share,
            Self::Project(row) => &row.share,
            Self::User(row) => &row.share,
        }
    }

    pub fn rank(&self) -> Option<u32> {
        match self {
            Self::Domain(row) => row.place(),
            Self::Project(row) => row.place(),
            Self::User(row) => row.place(),
        }
    }

    pub fn owner(&self) -> Owner {
        match self {
            Self::Domain(row) => Owner::Domain(Arc::clone(&row.domain_name)),
            Self::Project(row) => Owner::Project(row.project_id),
            Self::User(row) => Owner::User(row.member),
        }
    }

    pub fn tier(&self) -> Tier {
        match self {
            Self::Domain(_) => Tier::Domain,
            Self::Project(_) => Tier::Project,
            Self::User(_) => Tier::User,
        }
    }

    pub fn domain(&self) -> &Arc<str> {
        match self {
            Self::Domain(row) => &row.domain_name,
            Self::Project(row) => &row.domain_name,
            Self::User(row) => &row.domain_name,
        }
    }

    pub fn project(&self) -> Option<ProjectId> {
        match self {
            Self::Domain(_) => None,
            Self::Project(row) => Some(row.project_id),
            Self::User(row) => Some(row.member.project),
        }
    }

    pub fn entity_ref(&self) -> EntityRef {
        match self {
            Self::Domain(row) => (&**row).into(),
            Self::Project(row) => (&**row).into(),
            Self::User(row) => (&**row).into(),
        }
    }
}

impl From<&DomainShare> for EntityRef {
    fn from(row: &DomainShare) -> Self {
        Self { domain_name: Arc::clone(&row.domain_name), ..Self::default() }
    }
}

impl From<&ProjectShare> for EntityRef {
    fn from(row: &ProjectShare) -> Self {
        Self {
            project_id: Some(row.project_id.0),
            project_name: row.project_name.clone(),
            domain_name: Arc::clone(&row.domain_name),
            ..Self::default()
        }
    }
}

impl From<&UserShare> for EntityRef {
    fn from(row: &UserShare) -> Self {
        Self {
            user_uuid: Some(row.member.user.0),
            user_name: row.user_name.clone(),
            project_id: Some(row.member.project.0),
            project_name: row.project_name.clone(),
            domain_name: Arc::clone(&row.domain_name),
        }
    }
}

fn missing_parameter(name: &str, tier: Tier) -> Error {
    let said = format!("is missing: it says which {} is to be explained", tier.as_str());
    Error::about(format!("/{name}"), "missing_field", said)
}

fn too_much(name: &str, tier: Tier) -> Error {
    let said = format!("does not go with the tier `{}`", tier.as_str());
    Error::about(format!("/{name}"), "contradiction", said)
}

/// The owner that `input` names. `waits` is the owner of the workload in the request.
pub(super) fn requested_row(
    service: &Service,
    group: &VisibleGroup,
    input: &ExplainInput,
    waits: Option<Member>,
) -> Result<ExplainTarget> {
    let (user, project) = {
        let (people, fault) = (service.people(), |fault: Fault| Error::Invalid(vec![fault]));
        let user = input.user.as_deref().map(|text| lookup::user_of_text(&people, text, "/user"));
        let project = input.project.as_deref().map(|text| lookup::project_of_text(&people, text, "/project"));
        (user.transpose().map_err(fault)?, project.transpose().map_err(fault)?)
    };
    let otherwise = waits.map(|owner| owner.user).or_else(|| group.access().only_user());
    let named =
        [(input.domain.is_some(), Tier::Domain), (project.is_some(), Tier::Project), (user.is_some(), Tier::User)];
    let lowest = named.into_iter().filter(|(is_named, _)| *is_named).map(|(_, tier)| tier).next_back();
    let tier = input.tier.or(waits.map(|_| Tier::User)).or(lowest).or(otherwise.map(|_| Tier::User));
    match tier.unwrap_or(Tier::User) {
        tier @ Tier::Domain => match (&input.domain, project, user) {
            (_, _, Some(_)) => Err(too_much("user", tier)),
            (_, Some(_), _) => Err(too_much("project", tier)),
            (Some(name), ..) => Ok(ExplainTarget::Domain(Arc::from(name.as_str()))),
            (None, ..) => Err(missing_parameter("domain", tier)),
        },
        tier @ Tier::Project => match (project, user) {
            (_, Some(_)) => Err(too_much("user", tier)),
            (Some(id), None) => Ok(ExplainTarget::Project(id)),
            (None, None) => Err(missing_parameter("project", tier)),
        },
        tier @ Tier::User => {
            let user = user.or(otherwise).ok_or_else(|| missing_parameter("user", tier))?;
            match waits {
                Some(owner) if owner.user != user => Err(other_owner("user")),
                Some(owner) if project.is_some_and(|project| owner.project != project) => Err(other_owner("project")),
                Some(owner) => Ok(ExplainTarget::User(user, Some(owner.project))),
                None => Ok(ExplainTarget::User(user, project)),
            }
        }
    }
}

fn other_owner(name: &str) -> Error {
    Error::about(format!("/{name}"), "contradiction", "does not own the workload")
}

/// The row of an owner that only a sequence names, because no kernel or weight has named it yet. It has used nothing.
fn row_from_sequence(service: &Service, group: &VisibleGroup, entry: &PendingEntry) -> PlacedRow<UserShare> {
    let people = service.people();
    let visible = service.visible_people(group.key_reach(), &people);
    let Member { user, project } = entry.owner;
    let known_user = people.user(user).filter(|_| visible.has_user(user));
    let known_project = people.project(project).filter(|_| visible.has_project(project));
    let domain_name = known_project.map_or_else(|| Arc::from(UNKNOWN_DOMAIN), |known| Arc::clone(&known.domain_name));
    let (facts, rows) = (group.facts(), &group.facts().rows);
    let default = facts.options.default_weight;
    let domain_weight = rows.domain(&domain_name).map_or(default, |row| facts.weight(&row.share));
    let project_weight = rows.project(project).map_or(default, |row| facts.weight(&row.share));
    PlacedRow::outside(UserShare {
        member: entry.owner,
        user_name: known_user.and_then(|known| known.shown().cloned()).or_else(|| entry.user_name.clone()),
        project_name: known_project.and_then(|known| known.shown().cloned()).or_else(|| entry.project_name.clone()),
        domain_name,
        share: facts.default_share(EffectiveWeight::product(domain_weight, project_weight, default)),
        hidden: false,
    })
}

fn unknown_name(code: &'static str, kind: &str, name: impl std::fmt::Display) -> Error {
    Error::NotFound { code, detail: format!("there is no {kind} {name}") }
}

/// The row of the domain, project or user in `requested_row`. If the request also names a `domain`, the row must be in it.
/// `waits` is the workload in the request.
pub(super) async fn subject(
    service: &Service,
    group: &VisibleGroup,
    asked: &ExplainTarget,
    domain: Option<&str>,
    waits: Option<&PendingEntry>,
) -> Result<ExplainedRow> {
    let subject = match asked {
        ExplainTarget::Domain(name) => {
            let row = service.domain_share(group, name).await?;
            ExplainedRow::Domain(row.ok_or_else(|| unknown_name("unknown_domain", "domain", format!("{name:?}")))?)
        }
        ExplainTarget::Project(id) => {
            let row = service.project_share(group, *id).await?;
            ExplainedRow::Project(row.ok_or_else(|| unknown_name("unknown_project", "project", id))?)
        }
        ExplainTarget::User(user, Some(project)) => {
            let row = service.user_share(group, Member { user: *user, project: *project }).await?;
            match row.or_else(|| waits.map(|entry| row_from_sequence(service, group, entry))) {
                Some(row) => ExplainedRow::User(row),
                None if service.knows_user(group, *user) => {
                    return Err(unknown_name("unknown_project", "project", project));
                }
                None => return Err(unknown_name("unknown_user", "user", user)),
            }
        }
        ExplainTarget::User(user, None) => match service.user_place(group, *user).await? {
            UserPlace::Row(row) => ExplainedRow::User(row),
            UserPlace::NoProject { .. } => {
                return Err(Error::about("/project", "missing_field", "is missing: the user has no project yet"));
            }
        },
    };
    match domain {
        Some(named) if **subject.domain() != *named => {
            let said = format!("is not the domain {:?} that it is in", subject.domain());
            Err(Error::about("/domain", "contradiction", said))
        }
        _ => Ok(subject),
    }
}
