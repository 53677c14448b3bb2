//! Changes of a group's weights (FAIR_SHARE §7).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;

use crate::api::input_warning::{InputWarning, MAX_WARNINGS, list_names};
use crate::domain::ids::{Member, Owner, ProjectId, UserId};
use crate::domain::weight::Weight;
use crate::engine::audit::{AuditedChange, label};
use crate::engine::error::{Error, Fault, RequestFaults, Result};
use crate::engine::group::state::GroupState;
use crate::engine::group::transaction::GroupTransaction;
use crate::engine::people::PeopleDirectory;

/// The most projects that a message lists by name.
const MAX_NAMED_PROJECTS: usize = 5;

/// The owner of a weight.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WeightTarget {
    Domain(String),
    Project(ProjectId),
    /// Without a project: all projects of the user in the group.
    User(UserId, Option<ProjectId>),
}

/// One item of a write. `None` unsets the weight and keeps the calculated state.
#[derive(Clone, Debug)]
pub struct WeightItem {
    pub target: WeightTarget,
    pub weight: Option<Weight>,
}

/// The change of the weight of one entity.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightUpdate {
    pub target: Owner,
    pub from: Option<Weight>,
    pub to: Option<Weight>,
}

/// The changes that `items` make, in their order.
pub(crate) async fn plan(session: &mut GroupTransaction, items: &[WeightItem]) -> Result<Vec<WeightUpdate>> {
    session.learn_people().await?;
    plan_in(session.state(), &session.people(), items)
}

/// The changes that `items` make in a state.
pub fn plan_in(state: &GroupState, people: &PeopleDirectory, items: &[WeightItem]) -> Result<Vec<WeightUpdate>> {
    let resolved = resolve(state, people, items)?;
    let set = |entity: &Owner| state.hierarchy.share(entity).and_then(|share| share.weight);
    Ok(resolved.into_iter().map(|(target, to)| WeightUpdate { from: set(&target), target, to }).collect())
}

/// Likely mistakes in `items`, which make `changes`: a user's weight without a project that replaces others in several
/// projects. Pointers start at `/items/N`.
pub(crate) fn warnings(people: &PeopleDirectory, items: &[WeightItem], changes: &[WeightUpdate]) -> Vec<InputWarning> {
    if !items.iter().any(|item| matches!(item.target, WeightTarget::User(_, None))) {
        return Vec::new();
    }
    let mut of_user: BTreeMap<UserId, Vec<(ProjectId, &WeightUpdate)>> = BTreeMap::new();
    for change in changes {
        if let Owner::User(member) = &change.target {
            of_user.entry(member.user).or_default().push((member.project, change));
        }
    }
    let mut found = items.iter().enumerate().filter_map(|(at, item)| {
        let WeightTarget::User(user, None) = item.target else { return None };
        Some((at, replaced_weights(people, user, of_user.get(&user)?)?))
    });
    let warning = |(at, detail)| InputWarning::at(format!("/items/{at}"), "weight_in_several_projects", detail);
    let listed: Vec<InputWarning> = found.by_ref().take(MAX_WARNINGS).map(warning).collect();
    listed.into_iter().chain(InputWarning::unlisted(found.count() as u64)).collect()
}

/// A message about the weights of a user that `changes` replace, if they are of several projects.
fn replaced_weights(people: &PeopleDirectory, user: UserId, changes: &[(ProjectId, &WeightUpdate)]) -> Option<String> {
    let show =
        |project: ProjectId| people.project_name(project).map_or_else(|| project.to_string(), |name| name.to_string());
    let replaced = changes.iter().filter_map(|(project, change)| {
        let before = change.from.filter(|before| Some(*before) != change.to)?;
        Some(format!("{before} in {}", show(*project)))
    });
    let replaced: Vec<String> = replaced.collect();
    let name = people.user_name(user).map_or_else(|| user.to_string(), |name| name.to_string());
    (changes.len() > 1 && !replaced.is_empty()).then(|| {
        format!(
            "the weight of {name} is written in all {} projects of the user, because no project is named: it replaces {}",
            changes.len(),
            list_names(&replaced, MAX_NAMED_PROJECTS)
        )
    })
}

/// Makes the changes, with an audit entry. Weights that are set already are left out; if all are, no entry is written.
pub(crate) async fn store_weights(
    session: &mut GroupTransaction,
    changes: &[WeightUpdate],
    reason: Option<String>,
) -> Result<()> {
    let changes: Vec<WeightUpdate> = changes.iter().filter(|change| change.from != change.to).cloned().collect();
    if changes.is_empty() {
        return Ok(());
    }
    let (mut before, mut after, mut targets) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for WeightUpdate { target, from, to } in &changes {
        let label = label(target);
        targets.push(label.clone());
        before.insert(label.clone(), from);
        after.insert(label, to);
    }
    set_weights(session, &changes)?;
    let target = session.group().to_owned();
    let (before, after) = (Some(json!(before)), Some(json!(after)));
    session.audit_of(AuditedChange { action: "weights.put", target, before, after, reason }, &targets).await?;
    Ok(())
}

/// Resolves items to owners. Refuses items that are unknown or occur twice.
fn resolve(state: &GroupState, people: &PeopleDirectory, items: &[WeightItem]) -> Result<Vec<(Owner, Option<Weight>)>> {
    let mut of_user: BTreeMap<UserId, Vec<Member>> = BTreeMap::new();
    // Only an item without a project needs the projects of its user, and a group may have many users.
    if items.iter().any(|item| matches!(item.target, WeightTarget::User(_, None))) {
        for member in state.hierarchy.users().keys() {
            of_user.entry(member.user).or_default().push(*member);
        }
    }
    let mut faults = RequestFaults::default();
    let mut seen = BTreeSet::new();
    let mut resolved = Vec::new();
    for (at, item) in items.iter().enumerate() {
        if faults.are_enough() {
            break;
        }
        let mut fault = |key: &str, code, detail: String| {
            faults.push(Fault::new(format!("/items/{at}/{key}"), code, detail));
        };
        let entities = match &item.target {
            WeightTarget::Domain(name) if people.domain(name).is_none() => {
                fault("target_id", "unknown_domain", format!("there is no domain {name:?}"));
                continue;
            }
            WeightTarget::Domain(name) => vec![Owner::Domain(Arc::from(name.as_str()))],
            WeightTarget::Project(id) | WeightTarget::User(_, Some(id)) if people.project(*id).is_none() => {
                let key = if matches!(item.target, WeightTarget::User(..)) { "project_id" } else { "target_id" };
                fault(key, "unknown_project", format!("there is no project {id}"));
                continue;
            }
            WeightTarget::User(user, _) if people.user(*user).is_none() => {
                fault("target_id", "unknown_user", format!("there is no user {user}"));
                continue;
            }
            WeightTarget::Project(id) => vec![Owner::Project(*id)],
            WeightTarget::User(user, Some(project)) => vec![Owner::User(Member { user: *user, project: *project })],
            WeightTarget::User(user, None) => {
                let Some(members) = of_user.get(user) else {
                    fault(
                        "target_id",
                        "unknown_membership",
                        format!("the user {user} has no project in this resource group: name the project as well"),
                    );
                    continue;
                };
                members.iter().map(|m| Owner::User(*m)).collect()
            }
        };
        for entity in entities {
            if seen.insert(entity.clone()) {
                resolved.push((entity, item.weight));
            } else {
                fault("target_id", "duplicate_target", format!("{} is named twice", label(&entity)));
            }
        }
    }
    faults.or(resolved)
}

/// Sets the weights.
pub(crate) fn set_weights(session: &mut GroupTransaction, changes: &[WeightUpdate]) -> Result<()> {
    let engine = Arc::clone(session.engine());
    for WeightUpdate { target, to, .. } in changes {
        let mut known = Ok(());
        session.apply_to_state(|state| {
            know_in(state, &engine.people(), target).unwrap_or_else(|error| {
                known = Err(error);
                Vec::new()
            })
        });
        known?;
        session.set_weight(target, *to);
    }
    Ok(())
}

/// Registers an entity in a group that the server knows already. Returns the owners that are new.
pub fn know_in(state: &mut GroupState, people: &PeopleDirectory, entity: &Owner) -> Result<Vec<Owner>> {
    if state.hierarchy.share(entity).is_some() {
        return Ok(Vec::new());
    }
    let domain_of = |id: ProjectId| {
        let project = people.project(id).map(|p| Arc::clone(&p.domain_name));
        project.ok_or_else(|| Error::internal(format!("project {id} vanished")))
    };
    Ok(match entity {
        Owner::Domain(name) => state.know_domain(name),
        Owner::Project(id) => state.know_project(*id, &domain_of(*id)?),
        Owner::User(member) => state.know_member(*member, &domain_of(member.project)?),
    })
}
