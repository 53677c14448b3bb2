//! What a write changes of a group's weights, and how a session makes the change (FAIR_SHARE §7).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;

use crate::domain::ids::{Member, Owner, ProjectId, UserId};
use crate::domain::weight::Weight;
use crate::service::audit::{Change, label};
use crate::service::group::session::Session;
use crate::service::{Error, Fault, Faults, Result};

/// Whose weight.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    Domain(String),
    Project(ProjectId),
    /// Without a project: all projects that the group knows the user in.
    User(UserId, Option<ProjectId>),
}

/// One item of a write. `None` unsets the weight and keeps the calculated state.
#[derive(Clone, Debug)]
pub struct WeightItem {
    pub target: Target,
    pub weight: Option<Weight>,
}

/// What a write means for one entity.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightChange {
    pub target: Owner,
    pub from: Option<Weight>,
    pub to: Option<Weight>,
}

/// What `items` mean for whom, in their order.
pub(in crate::service) async fn plan(session: &mut Session, items: &[WeightItem]) -> Result<Vec<WeightChange>> {
    session.learn_people().await?;
    let resolved = resolve(session, items)?;
    let set = |entity: &Owner| session.state().hierarchy.share(entity).and_then(|share| share.weight);
    Ok(resolved.into_iter().map(|(target, to)| WeightChange { from: set(&target), target, to }).collect())
}

/// Makes the changes, with an entry in the audit log.
pub(in crate::service) async fn book(
    session: &mut Session,
    changes: &[WeightChange],
    reason: Option<String>,
) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    for WeightChange { target, from, to } in changes {
        know(session, target)?;
        session.set_weight(target, *to);
        before.insert(label(target), from);
        after.insert(label(target), to);
    }
    let target = session.group().to_owned();
    let (before, after) = (Some(json!(before)), Some(json!(after)));
    session.audit(Change { action: "weights.put", target, before, after, reason }).await
}

/// Turns items into rows, refusing what is unknown and what is named twice.
fn resolve(session: &Session, items: &[WeightItem]) -> Result<Vec<(Owner, Option<Weight>)>> {
    let (state, people) = (session.state(), session.people());
    let mut of_user: BTreeMap<UserId, Vec<Member>> = BTreeMap::new();
    for member in state.hierarchy.users().keys() {
        of_user.entry(member.user).or_default().push(*member);
    }
    let mut faults = Faults::default();
    let mut seen = BTreeSet::new();
    let mut resolved = Vec::new();
    for (at, item) in items.iter().enumerate() {
        if faults.are_enough() {
            break;
        }
        let pointer = format!("/items/{at}/target_id");
        let mut fault = |code, detail: String| faults.push(Fault::new(pointer.clone(), code, detail));
        let entities = match &item.target {
            Target::Domain(name) if people.domain(name).is_none() => {
                fault("unknown_domain", format!("there is no domain {name:?}"));
                continue;
            }
            Target::Domain(name) => vec![Owner::Domain(Arc::from(name.as_str()))],
            Target::Project(id) | Target::User(_, Some(id)) if people.project(*id).is_none() => {
                fault("unknown_project", format!("there is no project {id}"));
                continue;
            }
            Target::User(user, _) if people.user(*user).is_none() => {
                fault("unknown_user", format!("there is no user {user}"));
                continue;
            }
            Target::Project(id) => vec![Owner::Project(*id)],
            Target::User(user, Some(project)) => vec![Owner::User(Member { user: *user, project: *project })],
            Target::User(user, None) => {
                let Some(members) = of_user.get(user) else {
                    fault(
                        "unknown_membership",
                        format!("the user {user} has no project in this resource group; name one with `project_id`"),
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
                faults.push(Fault::new(
                    pointer.clone(),
                    "duplicate_target",
                    format!("{} is named twice", label(&entity)),
                ));
            }
        }
    }
    faults.or(resolved)
}

/// Makes a known entity known to this group too.
fn know(session: &mut Session, entity: &Owner) -> Result<()> {
    if session.state().hierarchy.share(entity).is_some() {
        return Ok(());
    }
    let domain_of = |session: &Session, id: ProjectId| {
        let project = session.people().project(id).map(|p| Arc::clone(&p.domain_name));
        project.ok_or_else(|| Error::internal(format!("project {id} vanished")))
    };
    match entity {
        Owner::Domain(name) => session.know(|state| state.know_domain(name)),
        Owner::Project(id) => {
            let domain = domain_of(session, *id)?;
            session.know(|state| state.know_project(*id, &domain));
        }
        Owner::User(member) => {
            let domain = domain_of(session, member.project)?;
            session.know(|state| state.know_member(*member, &domain));
        }
    }
    Ok(())
}
