//! The mode `weights`: the weights of LocalQueues, by which Kueue's `AdmissionFairSharing` divides their usage.
//!
//! Kueue records the usage of each LocalQueue itself, lets it decay by a half-life of its own, and starts the Workloads of the queue with
//! the least usage over weight first. The connector therefore writes the part that the owner of a queue is entitled to ([`shares`]), which
//! changes only when an admin changes weights, and not the factor of the server: in that one usage is counted already, and would count
//! twice.
//!
//! A weight is part of the specification of a queue, which admins write, too. [`memory`] keeps what was there before and finds what
//! others have changed since, which stays as it is.

pub mod checks;
pub mod memory;
pub mod shares;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use api::input_warning::list_names;

use super::cluster::{KueueCluster, MAX_WRITE_ATTEMPTS, RequestFailure, WriteEnd};
use super::objects::{FIELD_MANAGER, LocalQueue, RESTORING_MANAGER};
use super::owners::QueueDirectory;
use crate::fault::RoundFault;
use crate::group_weights::GroupWeights;
use crate::scheduler::{ValueWrite, WritePlan};

use memory::{WeightHolder, WeightMemory, shown_weight};
use shares::{WEIGHT_UNITS, plain_text, wanted_weights, weight_text};

/// The beginning of the id of a write to a LocalQueue, before its namespace and name.
const QUEUE_PREFIX: &str = "localqueues/";
/// The most LocalQueues that a line of the log names.
const MAX_NAMED: usize = 10;

/// The LocalQueue of a write; `None` for one to a Workload, whose id has one slash, and whose namespace may have the name of the prefix.
pub fn queue_of_write(write: &ValueWrite) -> Option<&str> {
    write.job.strip_prefix(QUEUE_PREFIX).filter(|key| key.contains('/'))
}

/// The weights that the connector gives to LocalQueues.
pub struct QueueWeights {
    memory: WeightMemory,
    /// The weights on the server; `None` until they were read.
    group: Option<GroupWeights>,
    /// The fault of an API server that drops weights.
    obstacle: Option<RoundFault>,
    /// The LocalQueues that the log has named as changed by another writer.
    named: BTreeSet<String>,
}

impl QueueWeights {
    /// The weights of a connector that starts. `folder` has the memory of what was written before.
    pub fn load(folder: &Path) -> io::Result<Self> {
        Ok(Self { memory: WeightMemory::load(folder)?, group: None, obstacle: None, named: BTreeSet::new() })
    }

    pub fn set_group(&mut self, group: GroupWeights) {
        self.group = Some(group);
    }

    /// The reason why weights are not written.
    pub fn obstacle(&self) -> Option<&RoundFault> {
        self.obstacle.as_ref()
    }

    /// Lets the next round try again what had failed for good.
    pub fn forget_obstacle(&mut self) {
        self.obstacle = None;
    }

    /// The weights that LocalQueues are to have.
    pub fn wanted(&self, directory: QueueDirectory<'_>) -> BTreeMap<String, i64> {
        self.group.as_ref().map(|group| wanted_weights(directory, group)).unwrap_or_default()
    }

    /// The LocalQueues whose weight another writer has changed since the connector has written it.
    fn changed_by_others(&self, queues: &BTreeMap<String, LocalQueue>) -> BTreeSet<String> {
        let is_other = |key: &str, queue: &LocalQueue| self.memory.holder(key, queue) == WeightHolder::Other;
        queues.iter().filter(|(key, queue)| is_other(key, queue)).map(|(key, _)| key.clone()).collect()
    }

    /// Counts the LocalQueues whose weight another writer has changed, and names them in the log once.
    pub fn count_changed(&mut self, queues: &BTreeMap<String, LocalQueue>) -> u64 {
        let changed = self.changed_by_others(queues);
        let news: Vec<String> = changed.difference(&self.named).cloned().collect();
        if !news.is_empty() {
            let queues = list_names(&news, MAX_NAMED);
            tracing::warn!(queues, "weights that another writer has changed since they were written stay as they are");
        }
        let count = changed.len() as u64;
        self.named = changed;
        count
    }

    /// The plan that gives LocalQueues their weights, and takes back those of all others.
    pub fn plan(&self, queues: &BTreeMap<String, LocalQueue>, wanted: &BTreeMap<String, i64>) -> WritePlan {
        let mut plan = WritePlan::default();
        for (key, queue) in queues {
            let (shown, holder) = (shown_weight(queue), self.memory.holder(key, queue));
            let write = |value| ValueWrite { job: format!("{QUEUE_PREFIX}{key}"), value };
            match (wanted.get(key), holder) {
                (_, WeightHolder::Other) => {}
                (Some(units), _) => {
                    // Kueue counts 1 for a queue without a weight.
                    let is_default = shown.is_none() && *units == WEIGHT_UNITS;
                    if !is_default && shown != Some(weight_text(*units)) {
                        plan.writes.push(write(*units));
                    } else if holder == WeightHolder::Connector {
                        plan.kept.push(write(*units));
                    }
                }
                (None, WeightHolder::Connector) if shown != self.text_before(key, queue) => plan.writes.push(write(0)),
                (None, _) => {}
            }
        }
        plan
    }

    /// The weight that a LocalQueue had before, as a plain decimal.
    fn text_before(&self, key: &str, queue: &LocalQueue) -> Option<String> {
        self.memory.weight_before(key, queue).map(plain_text)
    }

    /// The weight that a LocalQueue has after a write, as a plain decimal. 0 stands for the one from before.
    pub fn text_after(&self, queues: &BTreeMap<String, LocalQueue>, key: &str, units: i64) -> Option<String> {
        if units != 0 { Some(weight_text(units)) } else { self.text_before(key, queues.get(key)?) }
    }

    /// Notes writes on disk before they are made.
    pub fn note_writes(
        &mut self,
        writes: &[ValueWrite],
        queues: &BTreeMap<String, LocalQueue>,
        folder: &Path,
    ) -> io::Result<()> {
        let mut has_noted = false;
        for write in writes {
            let Some((key, queue)) = queue_of_write(write).and_then(|key| queues.get_key_value(key)) else { continue };
            let after = self.text_after(queues, key, write.value);
            self.memory.note_write(key, queue, after.as_deref());
            has_noted = true;
        }
        if !has_noted {
            return Ok(());
        }
        self.memory.forget_gone(queues);
        self.memory.save(folder)
    }

    /// Writes the weight of one LocalQueue; 0 gives it the one from before. A queue that has changed since it was read is read again, and
    /// left alone if its weight has changed or if it was made again: the next round decides about it.
    pub async fn write(
        &mut self,
        cluster: &KueueCluster,
        queues: &BTreeMap<String, LocalQueue>,
        key: &str,
        units: i64,
    ) -> WriteEnd {
        let Some(known) = queues.get(key) else { return WriteEnd::Superfluous };
        let (weight, manager) = match units {
            0 => (self.memory.weight_before(key, known).map(str::to_owned), RESTORING_MANAGER),
            _ => (Some(weight_text(units)), FIELD_MANAGER),
        };
        let mut queue = known.clone();
        for _ in 0..MAX_WRITE_ATTEMPTS {
            match cluster.write_weight(&queue, weight.as_deref(), manager).await {
                Ok(answer) => {
                    self.note_answer(key, units, weight.as_deref(), &answer);
                    return WriteEnd::Written;
                }
                Err(RequestFailure::Missing) => return WriteEnd::Superfluous,
                Err(RequestFailure::Conflict) => {}
                Err(failure) => return WriteEnd::Failed(failure),
            }
            queue = match cluster.local_queue(key).await {
                Ok(queue) => queue,
                Err(RequestFailure::Missing) => return WriteEnd::Superfluous,
                Err(failure) => return WriteEnd::Failed(failure),
            };
            if queue.metadata.uid != known.metadata.uid || shown_weight(&queue) != shown_weight(known) {
                return WriteEnd::Superfluous;
            }
        }
        WriteEnd::Failed(RequestFailure::Conflict)
    }

    fn note_answer(&mut self, key: &str, units: i64, weight: Option<&str>, answer: &LocalQueue) {
        let shown = shown_weight(answer);
        if shown.is_none() && weight.is_some() {
            self.obstacle = Some(dropped_weight(key));
        }
        // The reading after the writes shows any other difference.
        if shown == weight.map(plain_text) {
            match units {
                0 => self.memory.forget(key),
                _ => self.memory.confirm_write(key, shown),
            }
        }
    }

    /// Keeps on disk what the API server has answered.
    pub fn save(&self, folder: &Path) -> io::Result<()> {
        self.memory.save(folder)
    }
}

/// The fault of a Kueue that does not know the field.
pub fn dropped_weight(key: &str) -> RoundFault {
    let detail = format!(
        "the API server drops the weight of the LocalQueue {key}: Kueue has weights of LocalQueues since its version 0.12"
    );
    RoundFault::new("localqueue_weights", detail)
}
