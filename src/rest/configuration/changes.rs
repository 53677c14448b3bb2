//! The changes that a write of a configuration has made, or would make.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::names::GroupNames;
use super::queue_entry::{changed_keys, keys};
use crate::api::input_warning::{InputWarning, MAX_WARNINGS};
use crate::domain::division::DivisionWarning;
use crate::domain::ids::{Member, Owner};
use crate::domain::queues::QueueConfig;
use crate::domain::weight::Weight;
use crate::service::configuration::ConfigurationChanged;
use crate::service::queues::{QueueChange, QueuesChanged};
use crate::service::weights::WeightUpdate;

/// The changes of a write, made or simulated.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "set": 1, "unset": 0, "unchanged": 3, "queues": {"created": 0, "changed": 1, "deleted": 0},
    "items": [
        {"target_type": "domain", "target": "research", "target_id": "research", "key": "weight", "from": "1", "to": "2"},
        {"target_type": "queue", "target": "vision", "target_id": "vision", "key": "priority", "from": 0, "to": 1}
    ]
}))]
pub struct ConfigurationWritten {
    /// Weights that are new or not what they were.
    pub set: u64,
    /// Weights that are not set any more.
    pub unset: u64,
    /// Weights that the document names as they were.
    pub unchanged: u64,
    /// `null`: the document does not speak of queues.
    pub queues: Option<QueueCounts>,
    /// Every change: weights as the document names them, then those that are pruned, then queues.
    pub items: Vec<ConfigurationChange>,
    /// Likely mistakes in the weights or the queues; absent where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<InputWarning>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct QueueCounts {
    pub created: u64,
    pub changed: u64,
    pub deleted: u64,
}

/// A change, with its target as the document and as other endpoints name it.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConfigurationChange {
    /// `domain`, `project`, `user` or `queue`.
    pub target_type: &'static str,
    pub target: String,
    pub target_id: String,
    /// In which of the user's projects; only for users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<Uuid>,
    /// `weight`, a key of a queue, or `queue` for one that comes or goes.
    pub key: String,
    #[schema(value_type = Value)]
    pub from: Option<Value>,
    #[schema(value_type = Value)]
    pub to: Option<Value>,
}

impl ConfigurationChange {
    fn of_weight(names: &GroupNames, change: &WeightUpdate) -> Self {
        let weight = |weight: Option<Weight>| weight.map(|w| Value::from(w.to_string()));
        let (target_type, target, target_id, member_of) = match &change.target {
            Owner::Domain(name) => ("domain", name.to_string(), name.to_string(), None),
            Owner::Project(id) => ("project", names.show_project(*id), id.to_string(), None),
            Owner::User(Member { user, project }) => ("user", names.show_user(*user), user.to_string(), Some(*project)),
        };
        Self {
            target_type,
            target,
            target_id,
            project: member_of.map(|project| names.show_project(project)),
            project_id: member_of.map(|project| project.0),
            key: "weight".to_owned(),
            from: weight(change.from),
            to: weight(change.to),
        }
    }
}

impl ConfigurationWritten {
    /// The result of a write. `written` are the queues in the document.
    pub fn of(names: &GroupNames, changed: &ConfigurationChanged, written: &[QueueConfig]) -> Self {
        let set = changed.weights.iter().filter(|change| change.to.is_some()).count();
        let weights = changed.weights.iter().map(|change| ConfigurationChange::of_weight(names, change));
        let queues = changed.queues.iter().flat_map(|queues| rows(queues, written));
        Self {
            set: set as u64,
            unset: (changed.weights.len() - set) as u64,
            unchanged: changed.unchanged as u64,
            queues: changed.queues.as_ref().map(|queues| {
                let [created, changed, deleted] = queues.counts();
                QueueCounts { created, changed, deleted }
            }),
            items: weights.chain(queues).collect(),
            warnings: changed.warnings.iter().cloned().chain(queue_warnings(changed, written)).collect(),
        }
    }
}

/// Warnings about the queues, with pointers to those in the document.
fn queue_warnings(changed: &ConfigurationChanged, written: &[QueueConfig]) -> Vec<InputWarning> {
    let places: BTreeMap<&str, usize> =
        written.iter().enumerate().map(|(at, queue)| (queue.name.as_str(), at)).collect();
    let warnings = changed.queues.iter().flat_map(|queues| &queues.warnings);
    let warning = |warning: &DivisionWarning| {
        let DivisionWarning { code, queue, slot, detail } = warning;
        let names: Vec<&str> = queue.as_deref().into_iter().chain(*slot).collect();
        let detail = if names.is_empty() { detail.clone() } else { format!("{}: {detail}", names.join(", ")) };
        let place = queue.as_deref().and_then(|name| places.get(name));
        InputWarning { pointer: place.map(|at| format!("/queues/{at}")), ..InputWarning::general(code, detail) }
    };
    let more = InputWarning::unlisted(warnings.clone().count().saturating_sub(MAX_WARNINGS) as u64);
    warnings.map(warning).take(MAX_WARNINGS).chain(more).collect()
}

/// A row for each new or removed queue, and for each changed key of another one. `written` are the queues in the
/// document.
fn rows(changed: &QueuesChanged, written: &[QueueConfig]) -> Vec<ConfigurationChange> {
    let written: BTreeMap<&str, &QueueConfig> = written.iter().map(|q| (q.name.as_str(), q)).collect();
    changed.changes.iter().flat_map(|change| rows_of(change, written.get(&*change.name).copied())).collect()
}

fn rows_of(change: &QueueChange, written: Option<&QueueConfig>) -> Vec<ConfigurationChange> {
    let row = |key: &str, from: Option<Value>, to: Option<Value>| ConfigurationChange {
        target_type: "queue",
        target: change.name.to_string(),
        target_id: change.name.to_string(),
        project: None,
        project_id: None,
        key: key.to_owned(),
        from,
        to,
    };
    let whole = |queue: &QueueConfig| Value::Object(changed_keys(queue));
    match (&change.from, &change.to) {
        (Some(from), Some(to)) => {
            let (from, to) = (keys(from), keys(to));
            let differs = to.iter().filter(|(key, value)| from.get(*key) != Some(value));
            differs.map(|(key, value)| row(key, from.get(key).cloned(), Some(value.clone()))).collect()
        }
        // A new queue is shown as it is in the document, because its age is not known before the write.
        (from, to) => vec![row("queue", from.as_deref().map(whole), written.or(to.as_deref()).map(whole))],
    }
}
