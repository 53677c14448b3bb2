//! The undo of an audited change of weights, options or domains of projects: the inverse change, as a new audited change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::audit::{label, option_label, owner_of};
use super::audit_log::AuditEntry;
use super::group::changes::options::{self, OptionsChange, OptionsPatch};
use super::group::changes::projects::{self, Home};
use super::group::changes::record::Record;
use super::group::changes::weights::{self, WeightChange};
use super::group::session::Session;
use super::input::error::Found;
use super::what_if::APPLY;
use super::work::detached;
use super::{Caller, Error, Result, Service};
use crate::domain::ids::{Owner, ProjectId};
use crate::domain::weight::Weight;
use crate::store::{audit, audit_targets};

/// The action of an undo in the audit log.
const UNDO: &str = "audit_log.undo";

impl Service {
    /// Makes what an entry of the audit log has changed as it was before, unless somebody has changed the same since. Returns
    /// the entry of the undo.
    #[tracing::instrument(name = "service.undo.undo", level = "debug", skip_all, fields(id), err(level = "debug"))]
    pub async fn undo(self: &Arc<Self>, caller: Caller, id: i64, reason: Option<String>) -> Result<i64> {
        caller.require_admin()?;
        let found = audit::by_ids(self.store().read(), caller.groups.as_deref(), [id]).await?;
        let entry = found.into_iter().next().ok_or_else(|| Error::NotFound {
            code: "unknown_audit_entry",
            detail: format!("the audit log has no entry {id}"),
        })?;
        let recorded = Recorded::read(&entry)?;
        let Some(group) = entry.resource_group.clone() else { return Err(not_undoable(&entry)) };
        if !recorded.homes.is_empty() {
            caller.require_all_groups()?;
        }
        let moved: Vec<ProjectId> = recorded.homes.iter().map(|(id, ..)| *id).collect();
        let service = Arc::clone(self);
        detached(async move {
            let change = async |session: &mut Session| {
                if session.state().group.created_at > entry.at {
                    let detail = format!("the entry {id} is about a resource group that was removed since");
                    return Err(Error::about("/id", "not_undoable", detail));
                }
                session.learn_people().await?;
                recorded.require_unchanged(session, &entry).await?;
                recorded.take_back(session, id, reason).await
            };
            let undone = Arc::clone(&service).change(caller, group.clone(), change).await?;
            projects::show_elsewhere(&service, &group, &moved).await;
            Ok(undone)
        })
        .await
    }
}

/// Whether an entry is of a kind that can be undone.
pub fn is_undoable(entry: &AuditEntry) -> bool {
    entry.resource_group.is_some() && Recorded::read(entry).is_ok()
}

fn not_undoable(entry: &AuditEntry) -> Error {
    let said =
        format!("is an entry about `{}`: only changes of weights, options and domains can be undone", entry.action);
    Error::about("/id", "not_undoable", said)
}

/// Whose weight, before and after.
type WeightMove = (Owner, Option<Weight>, Option<Weight>);

/// What an entry has changed, with what it was before and after.
#[derive(Debug, Default)]
struct Recorded {
    weights: Vec<WeightMove>,
    homes: Vec<(ProjectId, Home, Home)>,
    /// As the audit log describes options.
    options: Option<(Value, Value)>,
}

impl Recorded {
    fn read(entry: &AuditEntry) -> Result<Self> {
        let (Some(before), Some(after)) = (&entry.before, &entry.after) else { return Err(not_undoable(entry)) };
        let read = match entry.action.as_str() {
            "weights.put" => weights_of(before, after).map(|weights| Self { weights, ..Self::default() }),
            "scheduler_options.patch" | "resource_group.put" => {
                Some(Self { options: Some((before.clone(), after.clone())), ..Self::default() })
            }
            APPLY | UNDO => Self::of_parts(before, after),
            _ => None,
        };
        read.filter(|recorded| !recorded.targets().is_empty()).ok_or_else(|| not_undoable(entry))
    }

    fn of_parts(before: &Value, after: &Value) -> Option<Self> {
        let has_options = after.get("scheduler_opts").is_some();
        Some(Self {
            weights: weights_of(&before["weights"], &after["weights"])?,
            homes: homes_of(&before["projects"], &after["projects"])?,
            options: has_options.then(|| (before.clone(), after.clone())),
        })
    }

    /// The names of what was changed.
    fn targets(&self) -> Vec<String> {
        let weights = self.weights.iter().map(|(owner, ..)| label(owner));
        let homes = self.homes.iter().map(|(id, ..)| label(&Owner::Project(*id)));
        let options = self.options.iter().flat_map(|(before, after)| options::changed(before, after));
        weights.chain(homes).chain(options).collect::<BTreeSet<String>>().into_iter().collect()
    }

    /// Refuses if something of it was changed since, or is not as the entry says.
    async fn require_unchanged(&self, session: &Session, entry: &AuditEntry) -> Result<()> {
        let last = audit_targets::last(session.read(), session.group(), &self.targets()).await?;
        let newer = last.into_iter().filter(|(_, by)| by.id > entry.id).max_by_key(|(_, by)| by.id);
        let (target, by) = match newer {
            Some((target, by)) => (target, Some(by)),
            None => match self.differs(session) {
                Some(target) => (target, None),
                None => return Ok(()),
            },
        };
        let who = by.as_ref().map_or_else(String::new, |by| format!(" by {} (entry {} of {})", by.actor, by.id, by.at));
        let detail = format!("{target} was changed since the entry {}{who}", entry.id);
        Err(Error::Overtaken { code: "changed_since", detail, found: Box::new(Found { by, ..Found::default() }) })
    }

    /// The first thing that is not as it was after the change.
    fn differs(&self, session: &Session) -> Option<String> {
        let (state, people) = (session.state(), session.people());
        let weight = |owner: &Owner| state.hierarchy.share(owner).and_then(|share| share.weight);
        let weights = self.weights.iter().find(|(owner, _, after)| weight(owner) != *after);
        let home = |id: ProjectId| people.project(id).map(|project| Home::of(project));
        let homes = self.homes.iter().find(|(id, _, after)| home(*id).as_ref() != Some(after));
        let now = options::describe(&state.group.scheduler, &state.group.scheduler_opts);
        let mut options = self.options.iter().flat_map(|(before, after)| {
            let others = options::changed(after, &now);
            options::changed(before, after).into_iter().filter(move |key| others.contains(key))
        });
        let weights = weights.map(|(owner, ..)| label(owner));
        weights.or_else(|| homes.map(|(id, ..)| label(&Owner::Project(*id)))).or_else(|| options.next())
    }

    /// Makes all of it as it was before.
    async fn take_back(&self, session: &mut Session, id: i64, reason: Option<String>) -> Result<i64> {
        let mut record = Record::default();
        let homes: BTreeMap<_, _> = self.homes.iter().map(|(id, before, _)| (*id, before.clone())).collect();
        for (project, before, after) in projects::book(session, homes).await? {
            record.note("projects", &label(&Owner::Project(project)), json!(before), json!(after));
        }
        let inverse =
            |(target, before, after): &WeightMove| WeightChange { target: target.clone(), from: *after, to: *before };
        let changes: Vec<WeightChange> = self.weights.iter().map(inverse).collect();
        weights::make(session, &changes)?;
        for WeightChange { target, from, to } in &changes {
            record.note("weights", &label(target), json!(from), json!(to));
        }
        if let Some((before, after)) = &self.options {
            let group = session.state().group.clone();
            let change = inverse_options(&group.scheduler, &group.scheduler_opts, before, after)?;
            record.note_options(
                &options::describe(&group.scheduler, &group.scheduler_opts),
                &options::describe(&change.scheduler, &change.opts),
            );
            change.make(session).await?;
        }
        record.undoes(id);
        let written = record.write(session, UNDO, reason).await?;
        written.ok_or_else(|| Error::internal(format!("the entry {id} has changed nothing")))
    }
}

/// The options as they are, but for those that an entry has changed: they are as before it.
fn inverse_options(scheduler: &str, opts: &Map<String, Value>, before: &Value, after: &Value) -> Result<OptionsChange> {
    let changed = options::changed(before, after);
    let mut opts = opts.clone();
    let keys = [before, after].into_iter().filter_map(|side| side["scheduler_opts"].as_object()).flat_map(Map::keys);
    for key in keys.filter(|key| changed.contains(&option_label(key))) {
        match before["scheduler_opts"].get(key) {
            Some(value) => opts.insert(key.clone(), value.clone()),
            None => opts.remove(key),
        };
    }
    let was = before["scheduler"].as_str().filter(|_| changed.contains(&option_label("scheduler")));
    OptionsChange::plan(was.unwrap_or(scheduler), &opts, OptionsPatch::default())
}

/// Those whose weight an entry has changed; `None`: that is not what it is about.
fn weights_of(before: &Value, after: &Value) -> Option<Vec<WeightMove>> {
    let Some(after) = after.as_object() else { return Some(Vec::new()) };
    let weight = |value: Option<&Value>| serde_json::from_value::<Option<Weight>>(value?.clone()).ok();
    let all = after.iter().map(|(name, now)| Some((owner_of(name)?, weight(before.get(name))?, weight(Some(now))?)));
    let all: Vec<_> = all.collect::<Option<_>>()?;
    Some(all.into_iter().filter(|(_, before, after)| before != after).collect())
}

fn homes_of(before: &Value, after: &Value) -> Option<Vec<(ProjectId, Home, Home)>> {
    let Some(after) = after.as_object() else { return Some(Vec::new()) };
    let home = |value: &Value| serde_json::from_value::<Home>(value.clone()).ok();
    let all = after.iter().map(|(name, now)| match owner_of(name)? {
        Owner::Project(id) => Some((id, home(before.get(name)?)?, home(now)?)),
        _ => None,
    });
    all.collect()
}
