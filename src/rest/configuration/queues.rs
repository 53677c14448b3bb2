//! The queues of a file: each as short as it can be said.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::ChangeView;
use crate::domain::queues::QueueConfig;
use crate::service::PublishedGroup;
use crate::service::queues::{QueueChange, QueuesChanged};

/// A queue in a file: keys that have their defaults are left out.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct QueueEntry(pub QueueConfig);

impl Serialize for QueueEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut keys = said(&self.0);
        // The name comes first.
        let name = keys.remove("name");
        serializer.collect_map(name.iter().map(|name| ("name", name)).chain(keys.iter().map(|(k, v)| (k.as_str(), v))))
    }
}

fn keys(queue: &QueueConfig) -> Map<String, Value> {
    match serde_json::to_value(queue) {
        Ok(Value::Object(keys)) => keys,
        _ => Map::new(),
    }
}

/// What makes a queue differ from one that says nothing.
fn said(queue: &QueueConfig) -> Map<String, Value> {
    let defaults = keys(&QueueConfig::default());
    keys(queue).into_iter().filter(|(key, value)| defaults.get(key) != Some(value)).collect()
}

/// All queues of a group as a file lists them; `None` if there are none.
pub fn of_group(group: &PublishedGroup) -> Option<Vec<QueueEntry>> {
    let queues: Vec<_> = group.queues.values().cloned().map(QueueEntry).collect();
    Some(queues).filter(|queues| !queues.is_empty())
}

/// A row for each queue that comes or goes, and for each key that changes; `written` are the queues of the file.
pub(super) fn rows(changed: &QueuesChanged, written: &[QueueConfig]) -> Vec<ChangeView> {
    let written: BTreeMap<&str, &QueueConfig> = written.iter().map(|q| (q.name.as_str(), q)).collect();
    changed.changes.iter().flat_map(|change| rows_of(change, written.get(&*change.name).copied())).collect()
}

fn rows_of(change: &QueueChange, written: Option<&QueueConfig>) -> Vec<ChangeView> {
    let row = |key: &str, from: Option<Value>, to: Option<Value>| ChangeView {
        target_type: Value::from("queue"),
        target: change.name.to_string(),
        target_id: change.name.to_string(),
        project: None,
        project_id: None,
        key: key.to_owned(),
        from,
        to,
    };
    let whole = |queue: &QueueConfig| Value::Object(said(queue));
    match (&change.from, &change.to) {
        (Some(from), Some(to)) => {
            let (from, to) = (keys(from), keys(to));
            let differs = to.iter().filter(|(key, value)| from.get(*key) != Some(value));
            differs.map(|(key, value)| row(key, from.get(key).cloned(), Some(value.clone()))).collect()
        }
        // A new queue as the file says it: its age is not known before the write.
        (from, to) => vec![row("queue", from.as_ref().map(whole), written.or(to.as_ref()).map(whole))],
    }
}
