//! The bodies and results of writes of queues.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::domain::division::DivisionWarning;
use crate::domain::queues::{MAX_QUEUES, QueueConfig};
use crate::domain::reading::at_most;
use crate::rest::extract::WithReason;
use crate::service::queues::{QueuesChanged, QueuesWrite};
use crate::service::{Error, Result};

/// The body for one queue.
pub type QueueBody = WithReason<QueueConfig>;

/// A queue after its write.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "queue": {
        "name": "vision", "parent": "research", "priority": 0, "weight": "1", "mode": "fair",
        "created_at": "2026-01-13T10:00:00Z", "quota": {"cuda.device": "4"}, "limit": {"cuda.device": "16"},
        "guarantee": {}, "over_quota_weight": "2", "children_over_quota_by": "weight", "min_share_ratio": "0",
        "reclaimable": true, "preempt_min_runtime": null, "reclaim_min_runtime": 600
    },
    "warnings": [
        {
            "code": "quota_above_capacity", "slot": "cuda.device",
            "detail": "the quotas add up to more than the capacity of 88 cuda.device"
        }
    ]
}))]
pub struct QueueWritten {
    #[schema(value_type = QueueConfig)]
    pub queue: Arc<QueueConfig>,
    /// Likely mistakes in the group's queues; never a refusal.
    pub warnings: Vec<DivisionWarning>,
}

impl QueueWritten {
    pub fn of(name: &str, changed: QueuesChanged) -> Result<Self> {
        let queue = changed.queues.get(name).cloned();
        let queue = queue.ok_or_else(|| Error::internal(format!("queue {name} is not among those just written")))?;
        Ok(Self { queue, warnings: changed.warnings })
    }
}

/// The state that a write of one queue is based on.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RevisionQuery {
    /// The `config_revision` that the write is based on; another one refuses it with 409 `config_changed`.
    pub if_revision: Option<String>,
}

/// Why a queue goes, and what the removal is based on.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RemovalQuery {
    /// Why, for the audit log.
    pub reason: Option<String>,
    /// The `config_revision` that the removal is based on; another one refuses it with 409 `config_changed`.
    pub if_revision: Option<String>,
}

/// Queues to create and to replace, all or none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "queues": [
        {"name": "research", "quota": {"cuda.device": "10"}},
        {"name": "vision", "parent": "research", "quota": {"cuda.device": "4"}, "over_quota_weight": "2"}
    ],
    "reason": "new cluster"
}))]
pub struct QueuesBody {
    #[serde(deserialize_with = "at_most::<MAX_QUEUES, _, _>")]
    #[schema(max_items = 100_000)]
    pub queues: Vec<QueueConfig>,
    /// True to remove queues that are not named.
    #[serde(default)]
    pub prune: bool,
    /// Why, for the audit log.
    pub reason: Option<String>,
    /// The `config_revision` that the write is based on; another one refuses it with 409 `config_changed`.
    pub if_revision: Option<String>,
}

impl From<QueuesBody> for QueuesWrite {
    fn from(body: QueuesBody) -> Self {
        let QueuesBody { queues, prune, reason, if_revision } = body;
        Self { queues, prune, reason, if_revision }
    }
}

/// The result of a write.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"created": 1, "changed": 1, "deleted": 0, "warnings": []}))]
pub struct QueuesWritten {
    pub created: u64,
    pub changed: u64,
    pub deleted: u64,
    /// Likely mistakes in the group's queues; never a refusal.
    pub warnings: Vec<DivisionWarning>,
}

impl From<QueuesChanged> for QueuesWritten {
    fn from(done: QueuesChanged) -> Self {
        let [created, changed, deleted] = done.counts();
        Self { created, changed, deleted, warnings: done.warnings }
    }
}
