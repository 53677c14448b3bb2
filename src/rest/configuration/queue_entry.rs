//! The queues in a configuration. Each has only the keys that differ from their defaults.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::domain::queues::QueueConfig;
use crate::engine::group::snapshots::snapshot_data::GroupSnapshotData;

/// A queue in a configuration, without the keys that have their defaults.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct QueueEntry(pub QueueConfig);

impl Serialize for QueueEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut keys = changed_keys(&self.0);
        // The name is the first key.
        let name = keys.remove("name");
        serializer.collect_map(name.iter().map(|name| ("name", name)).chain(keys.iter().map(|(k, v)| (k.as_str(), v))))
    }
}

pub fn keys(queue: &QueueConfig) -> Map<String, Value> {
    match serde_json::to_value(queue) {
        Ok(Value::Object(keys)) => keys,
        _ => Map::new(),
    }
}

/// The keys whose values differ from the defaults.
pub fn changed_keys(queue: &QueueConfig) -> Map<String, Value> {
    let defaults = keys(&QueueConfig::default());
    keys(queue).into_iter().filter(|(key, value)| defaults.get(key) != Some(value)).collect()
}

/// All queues of a group; `None` if there are none.
pub fn queue_entries(group: &GroupSnapshotData) -> Option<Vec<QueueEntry>> {
    let queues: Vec<_> = group.queues.values().map(|queue| QueueEntry(QueueConfig::clone(queue))).collect();
    Some(queues).filter(|queues| !queues.is_empty())
}
