//! What an admin says of a queue (§1). What it holds and asks for is never configured.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::choice::DivisionChoice;
use crate::domain::decimal::Amount;
use crate::domain::division::tree::faults::MAX_FAULTS;
use crate::domain::division::{
    Bound, OverQuotaBy, OverQuotaWeight, QueueMode, QueueSpec, Tree, TreeFault, Warning, lint,
};
use crate::domain::slots::{Amounts, SlotMap};
use crate::domain::time::Timestamp;

/// The longest minimum runtime, in seconds.
pub const MAX_RUNTIME_SECONDS: u64 = 4_294_967_295;

/// One queue as it is configured. Absent keys have the defaults of [`QueueSpec`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({
    "name": "vision", "parent": "research", "priority": 0, "weight": "1", "mode": "fair", "created_at": "2026-01-13T10:00:00Z",
    "quota": {"cuda.device": "4"}, "limit": {"cuda.device": "16"}, "guarantee": {}, "over_quota_weight": "2",
    "children_over_quota_by": "weight", "min_share_ratio": "0", "reclaimable": true, "preempt_min_runtime": null,
    "reclaim_min_runtime": 600
}))]
pub struct QueueConfig {
    pub name: String,
    pub parent: Option<String>,
    pub priority: i32,
    pub weight: Amount,
    pub mode: QueueMode,
    /// Absent in a write: the queue keeps its age, a new one is as old as the write.
    pub created_at: Option<Timestamp>,
    #[schema(value_type = std::collections::BTreeMap<String, Bound>)]
    pub quota: SlotMap<Bound>,
    #[schema(value_type = std::collections::BTreeMap<String, Bound>)]
    pub limit: SlotMap<Bound>,
    pub guarantee: Amounts,
    pub over_quota_weight: OverQuotaWeight,
    pub children_over_quota_by: OverQuotaBy,
    pub min_share_ratio: Amount,
    pub reclaimable: bool,
    /// Seconds.
    pub preempt_min_runtime: Option<u64>,
    /// Seconds.
    pub reclaim_min_runtime: Option<u64>,
}

impl Default for QueueConfig {
    fn default() -> Self {
        let spec = QueueSpec::default();
        Self {
            name: spec.name,
            parent: spec.parent,
            priority: spec.priority,
            weight: spec.weight,
            mode: spec.mode,
            created_at: spec.created_at,
            quota: spec.quota,
            limit: spec.limit,
            guarantee: spec.guarantee,
            over_quota_weight: spec.over_quota_weight,
            children_over_quota_by: spec.children_over_quota_by,
            min_share_ratio: spec.min_share_ratio,
            reclaimable: spec.reclaimable,
            preempt_min_runtime: spec.preempt_min_runtime,
            reclaim_min_runtime: spec.reclaim_min_runtime,
        }
    }
}

impl QueueConfig {
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The queue for a tree, without any demand yet.
    pub fn spec(&self) -> QueueSpec {
        let config = self.clone();
        QueueSpec {
            name: config.name,
            parent: config.parent,
            priority: config.priority,
            weight: config.weight,
            mode: config.mode,
            created_at: config.created_at,
            quota: config.quota,
            limit: config.limit,
            guarantee: config.guarantee,
            over_quota_weight: config.over_quota_weight,
            children_over_quota_by: config.children_over_quota_by,
            min_share_ratio: config.min_share_ratio,
            reclaimable: config.reclaimable,
            preempt_min_runtime: config.preempt_min_runtime,
            reclaim_min_runtime: config.reclaim_min_runtime,
            ..QueueSpec::default()
        }
    }
}

/// Why a write of queues is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFault {
    /// The place in the write; `None`: said of the queues as a whole.
    pub queue: Option<usize>,
    /// The key of that queue.
    pub key: String,
    pub code: &'static str,
    pub detail: String,
}

/// Checks `written` beside the queues that stay as they are, as one tree. Returns the linter's warnings.
pub fn check<'a>(
    written: &'a [QueueConfig],
    unchanged: impl Iterator<Item = &'a QueueConfig>,
    capacity: &Amounts,
    choice: &DivisionChoice,
) -> Result<Vec<Warning>, Vec<ConfigFault>> {
    // What is written comes first: faults then point at places in the write.
    let specs = written.iter().chain(unchanged).map(QueueConfig::spec).collect();
    let mut faults: Vec<ConfigFault> = written.iter().enumerate().flat_map(runtime_faults).take(MAX_FAULTS).collect();
    match Tree::build(specs, capacity) {
        Ok(tree) if faults.is_empty() => return Ok(lint(&tree, choice.algorithm(), &choice.options)),
        Ok(_) => {}
        Err(found) => faults.extend(found.into_iter().map(|fault| place(fault, written.len()))),
    }
    // Queues that stay are at fault only through what is written.
    if faults.iter().any(|f| f.queue.is_some()) {
        faults.retain(|f| f.queue.is_some());
    }
    Err(faults)
}

fn runtime_faults((queue, config): (usize, &QueueConfig)) -> impl Iterator<Item = ConfigFault> {
    let figures =
        [("preempt_min_runtime", config.preempt_min_runtime), ("reclaim_min_runtime", config.reclaim_min_runtime)];
    figures.into_iter().filter(|(_, seconds)| seconds.is_some_and(|s| s > MAX_RUNTIME_SECONDS)).map(move |(key, _)| {
        ConfigFault {
            queue: Some(queue),
            key: key.to_owned(),
            code: "out_of_range",
            detail: format!("`{key}` must be at most {MAX_RUNTIME_SECONDS} seconds"),
        }
    })
}

/// `/queues/3/parent` of the tree as a place in the write.
fn place(fault: TreeFault, written: usize) -> ConfigFault {
    let TreeFault { pointer, code, detail } = fault;
    let mut parts = pointer.trim_start_matches("/queues").trim_start_matches('/').splitn(2, '/');
    let queue = parts.next().and_then(|at| at.parse().ok()).filter(|at: &usize| *at < written);
    ConfigFault { queue, key: parts.next().unwrap_or_default().to_owned(), code, detail }
}
