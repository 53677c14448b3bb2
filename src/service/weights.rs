//! Weights: all or nothing, effective at once (§7).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;

use super::audit::Change;
use super::published::PublishedGroup;
use super::session::Session;
use super::{Caller, Error, Fault, Result, Service, detached};
use crate::domain::ids::{Member, ProjectId, UserId};
use crate::domain::ledger::Entity;
use crate::domain::weight::Weight;

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

/// One weight that an admin has set.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightRow {
    pub target: Entity,
    /// `None` in the answer to a write that unset it.
    pub weight: Option<Weight>,
}

/// What a write means for one entity.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightChange {
    pub target: Entity,
    pub from: Option<Weight>,
    pub to: Option<Weight>,
}

#[derive(Clone, Debug)]
pub struct WeightsChanged {
    /// Weights that were set, changed or confirmed.
    pub upserted: u64,
    /// Weights that were set before and are not any more.
    pub deleted: u64,
    pub affected: Vec<WeightRow>,
    pub group: Arc<PublishedGroup>,
}

impl PublishedGroup {
    /// Every weight that is set: domains, then projects, then users.
    pub fn weights(&self) -> Vec<WeightRow> {
        let mut rows: Vec<WeightRow> = Vec::new();
        rows.extend(
            self.domains
                .iter()
                .map(|d| WeightRow { target: Entity::Domain(Arc::clone(&d.domain_name)), weight: d.share.weight }),
        );
        rows.extend(
            self.projects.iter().map(|p| WeightRow { target: Entity::Project(p.project_id), weight: p.share.weight }),
        );
        rows.extend(self.users.iter().map(|u| WeightRow { target: Entity::User(u.member), weight: u.share.weight }));
        rows.retain(|row| row.weight.is_some());
        rows.sort_unstable_by(|a, b| a.target.cmp(&b.target));
        rows
    }
}

impl Service {
    /// Every weight that is set in the group: domains, then projects, then users, each by id.
    pub fn weights(&self, caller: &Caller, group: &str) -> Result<Vec<WeightRow>> {
        caller.require_reader()?;
        Ok(self.group(caller, group)?.weights())
    }

    /// Sets and unsets weights in one transaction. Pointers in faults start at `/items/N`.
    pub async fn put_weights(
        self: &Arc<Self>,
        caller: Caller,
        group: String,
        items: Vec<WeightItem>,
        reason: Option<String>,
    ) -> Result<WeightsChanged> {
        caller.require_admin()?;
        let service = Arc::clone(self);
        detached(async move {
            let mut session = Session::open(&service, &caller, &group).await?;
            let mut changes = plan(&mut session, &items).await?;
            // A weight that is confirmed is a change; one that was not set before and is not set now is none.
            changes.retain(|change| change.from.is_some() || change.to.is_some());
            let group = if changes.is_empty() {
                session.unchanged().await?
            } else {
                book(&mut session, &caller, &changes, reason).await?;
                session.commit().await?
            };
            let upserted = changes.iter().filter(|change| change.to.is_some()).count() as u64;
            let deleted = changes.len() as u64 - upserted;
            let affected = changes.into_iter().map(|change| WeightRow { target: change.target, weight: change.to });
            Ok(WeightsChanged { upserted, deleted, affected: affected.collect(), group })
        })
        .await
    }
}

/// What `items` mean for whom, in their order.
pub(super) async fn plan(session: &mut Session, items: &[WeightItem]) -> Result<Vec<WeightChange>> {
    session.learn_people().await?;
    let resolved = resolve(session, items)?;
    let set = |entity: &Entity| session.state().hierarchy.share(entity).and_then(|share| share.weight);
    Ok(resolved.into_iter().map(|(target, to)| WeightChange { from: set(&target), target, to }).collect())
}

/// Makes the changes, with an entry in the audit log; whoever opened the session commits.
pub(super) async fn book(
    session: &mut Session,
    caller: &Caller,
    changes: &[WeightChange],
    reason: Option<String>,
) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    for WeightChange { target, from, to } in changes {
        admit(session, target)?;
        if let Some(share) = session.state_mut().hierarchy.share_mut(target) {
            share.weight = *to;
        }
        session.share_changed([target.clone()]);
        before.insert(label(target), from);
        after.insert(label(target), to);
    }
    let group = session.state().group.name.clone();
    let (before, after) = (Some(json!(before)), Some(json!(after)));
    session.audit(Change { caller, action: "weights.put", target: group, before, after, reason }).await
}

/// How the audit log names an entity.
pub fn label(entity: &Entity) -> String {
    match entity {
        Entity::Domain(name) => format!("domain:{name}"),
        Entity::Project(id) => format!("project:{id}"),
        Entity::User(m) => format!("user:{}/{}", m.user, m.project),
    }
}

/// Turns items into rows, refusing what nobody knows and what is named twice.
fn resolve(session: &Session, items: &[WeightItem]) -> Result<Vec<(Entity, Option<Weight>)>> {
    let (state, people) = (session.state(), session.people());
    let mut of_user: BTreeMap<UserId, Vec<Member>> = BTreeMap::new();
    for member in state.hierarchy.users.keys() {
        of_user.entry(member.user).or_default().push(*member);
    }
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    let mut resolved = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let pointer = format!("/items/{at}/target_id");
        let mut fault = |code, detail: String| faults.push(Fault::new(pointer.clone(), code, detail));
        let entities = match &item.target {
            Target::Domain(name) if people.domain(name).is_none() => {
                fault("unknown_domain", format!("there is no domain {name:?}"));
                continue;
            }
            Target::Domain(name) => vec![Entity::Domain(Arc::from(name.as_str()))],
            Target::Project(id) | Target::User(_, Some(id)) if people.project(*id).is_none() => {
                fault("unknown_project", format!("there is no project {id}"));
                continue;
            }
            Target::User(user, _) if people.user(*user).is_none() => {
                fault("unknown_user", format!("there is no user {user}"));
                continue;
            }
            Target::Project(id) => vec![Entity::Project(*id)],
            Target::User(user, Some(project)) => vec![Entity::User(Member { user: *user, project: *project })],
            Target::User(user, None) => {
                let Some(members) = of_user.get(user) else {
                    fault(
                        "unknown_membership",
                        format!("the user {user} has no project in this resource group; name one with `project_id`"),
                    );
                    continue;
                };
                members.iter().map(|m| Entity::User(*m)).collect()
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
    if faults.is_empty() { Ok(resolved) } else { Err(Error::Invalid(faults)) }
}

/// Makes a known entity known to this group too.
fn admit(session: &mut Session, entity: &Entity) -> Result<()> {
    if session.state().hierarchy.share(entity).is_some() {
        return Ok(());
    }
    let domain_of = |session: &Session, id: &ProjectId| {
        let project = session.people().project(*id).map(|p| Arc::clone(&p.domain_name));
        project.ok_or_else(|| Error::Internal(format!("project {id} vanished")))
    };
    let new = match entity {
        Entity::Domain(name) => session.state_mut().admit_domain(name),
        Entity::Project(id) => {
            let domain = domain_of(session, id)?;
            session.state_mut().admit_project(*id, &domain)
        }
        Entity::User(member) => {
            let domain = domain_of(session, &member.project)?;
            session.state_mut().admit(*member, &domain)
        }
    };
    session.share_changed(new);
    Ok(())
}
