//! The LocalQueues that the connector has written to: the weight that each had before, and the weights by which it is seen that no other
//! writer has changed it since.
//!
//! The memory is on disk before the first write, so that a connector that is killed finds what it may have written. The API server's own
//! note of the writer of a field is not enough: it does not have the weight from before, and another connector has the same name there.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::shares::plain_text;
use crate::kueue::objects::{FIELD_MANAGER, LocalQueue, field_writers};
use crate::state_file::{read_file, replace_file};

const WEIGHTS_FILE: &str = "weights.json";

/// A LocalQueue that the connector has written to, or is about to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct NotedQueue {
    /// A queue that is made again under the same name has another one.
    uid: Option<String>,
    /// The weight before the first write, as it was written; `None`: it had none.
    before: Option<String>,
    /// The weights that it has unless another writer has changed it: the one that was written last, and during a write also the one that
    /// it had.
    expected: Vec<Option<String>>,
    /// True once the API server has taken a write.
    is_taken: bool,
}

/// The writer that a weight is left to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightHolder {
    /// No connector has written it, or what it has written was taken away.
    Open,
    /// The connector has written it last.
    Connector,
    /// Another writer has changed it since the connector has written it.
    Other,
}

/// The LocalQueues that the connector has written to, by namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WeightMemory {
    queues: BTreeMap<String, NotedQueue>,
}

/// The weight of a LocalQueue as its object has it.
fn written_weight(queue: &LocalQueue) -> Option<&str> {
    Some(&queue.spec.fair_sharing.as_ref()?.weight.as_ref()?.0)
}

/// The weight of a LocalQueue as a plain decimal; `None`: it has none, and counts 1.
pub fn shown_weight(queue: &LocalQueue) -> Option<String> {
    written_weight(queue).map(plain_text)
}

impl WeightMemory {
    pub fn load(folder: &Path) -> io::Result<Self> {
        read_file(&folder.join(WEIGHTS_FILE))
    }

    pub fn save(&self, folder: &Path) -> io::Result<()> {
        replace_file(&folder.join(WEIGHTS_FILE), &serde_json::to_vec(self)?)
    }

    fn noted(&self, key: &str, queue: &LocalQueue) -> Option<&NotedQueue> {
        self.queues.get(key).filter(|noted| noted.uid == queue.metadata.uid)
    }

    /// The writer that the weight of a LocalQueue is left to. Without a memory of it, the API server's note of the writer counts.
    pub fn holder(&self, key: &str, queue: &LocalQueue) -> WeightHolder {
        let shown = shown_weight(queue);
        match self.noted(key, queue) {
            Some(noted) if noted.expected.contains(&shown) => WeightHolder::Connector,
            Some(noted) if noted.is_taken && shown.is_some() => WeightHolder::Other,
            Some(_) => WeightHolder::Open,
            None => {
                let writers = field_writers(&queue.metadata, &["f:spec", "f:fairSharing", "f:weight"]);
                if writers.contains(&FIELD_MANAGER) { WeightHolder::Connector } else { WeightHolder::Open }
            }
        }
    }

    /// The weight that a LocalQueue had before the first write, as it was written; `None`: it had none, or it is not known.
    pub fn weight_before(&self, key: &str, queue: &LocalQueue) -> Option<&str> {
        self.noted(key, queue)?.before.as_deref()
    }

    /// Notes a write that is about to be made.
    pub fn note_write(&mut self, key: &str, queue: &LocalQueue, weight: Option<&str>) {
        let (before, is_taken) = match (self.holder(key, queue), self.noted(key, queue)) {
            (WeightHolder::Connector, Some(noted)) => (noted.before.as_deref(), noted.is_taken),
            // Another connector, or one whose memory is lost, has written it.
            (WeightHolder::Connector, None) => (None, true),
            (WeightHolder::Open | WeightHolder::Other, _) => (written_weight(queue), false),
        };
        let (uid, before) = (queue.metadata.uid.clone(), before.map(str::to_owned));
        let expected = vec![shown_weight(queue), weight.map(plain_text)];
        self.queues.insert(key.to_owned(), NotedQueue { uid, before, expected, is_taken });
    }

    /// Notes a weight that the API server has taken.
    pub fn confirm_write(&mut self, key: &str, shown: Option<String>) {
        if let Some(noted) = self.queues.get_mut(key) {
            noted.expected = vec![shown];
            noted.is_taken = true;
        }
    }

    /// Forgets a LocalQueue, as it is again as it was before.
    pub fn forget(&mut self, key: &str) {
        self.queues.remove(key);
    }

    /// Forgets the LocalQueues that are not there any more.
    pub fn forget_gone(&mut self, queues: &BTreeMap<String, LocalQueue>) {
        self.queues.retain(|key, noted| queues.get(key).is_some_and(|queue| queue.metadata.uid == noted.uid));
    }
}
