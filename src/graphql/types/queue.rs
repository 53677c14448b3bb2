use std::sync::Arc;

use async_graphql::{Enum, ID, Object, SimpleObject};

use crate::domain::division::Warning;
use crate::domain::queues::QueueConfig;
use crate::graphql::global_id;
use crate::graphql::scalars::{DateTime, JsonString};
use crate::service::queues::QueuesChanged;

/// How a queue serves its children under `min_share`.
#[derive(Enum, Clone, Copy, Debug, PartialEq, Eq)]
#[graphql(remote = "crate::domain::division::QueueMode")]
pub enum QueueMode {
    Fair,
    Fifo,
}

/// What over-quota capacity follows.
#[derive(Enum, Clone, Copy, Debug, PartialEq, Eq)]
#[graphql(remote = "crate::domain::division::OverQuotaBy")]
pub enum OverQuotaBy {
    Weight,
    Quota,
}

/// A queue as it is configured.
pub struct Queue {
    pub group: Arc<str>,
    pub config: Box<QueueConfig>,
}

impl Queue {
    pub const KIND: &str = "Queue";
}

#[Object(rename_fields = "snake_case")]
impl Queue {
    pub async fn id(&self) -> ID {
        global_id::encode(Self::KIND, &[&self.group, &self.config.name])
    }

    async fn resource_group(&self) -> &str {
        &self.group
    }

    async fn name(&self) -> &str {
        &self.config.name
    }

    /// Null: a root.
    async fn parent(&self) -> Option<&str> {
        self.config.parent.as_deref()
    }

    /// Higher is served first.
    async fn priority(&self) -> i32 {
        self.config.priority
    }

    /// For `min_share`, `proportion` and `drf`.
    async fn weight(&self) -> String {
        self.config.weight.to_string()
    }

    async fn mode(&self) -> QueueMode {
        self.config.mode.into()
    }

    async fn created_at(&self) -> Option<DateTime> {
        self.config.created_at.map(DateTime)
    }

    /// By slot; a slot that is not in it has 0.
    async fn quota(&self) -> JsonString {
        JsonString::of(&self.config.quota)
    }

    /// By slot; a slot that is not in it is unlimited.
    async fn limit(&self) -> JsonString {
        JsonString::of(&self.config.limit)
    }

    async fn guarantee(&self) -> JsonString {
        JsonString::of(&self.config.guarantee)
    }

    /// One number, or numbers by slot.
    async fn over_quota_weight(&self) -> JsonString {
        JsonString::of(&self.config.over_quota_weight)
    }

    async fn children_over_quota_by(&self) -> OverQuotaBy {
        self.config.children_over_quota_by.into()
    }

    /// A part of the whole group.
    async fn min_share_ratio(&self) -> String {
        self.config.min_share_ratio.to_string()
    }

    async fn reclaimable(&self) -> bool {
        self.config.reclaimable
    }

    /// Seconds.
    async fn preempt_min_runtime(&self) -> Option<u64> {
        self.config.preempt_min_runtime
    }

    /// Seconds.
    async fn reclaim_min_runtime(&self) -> Option<u64> {
        self.config.reclaim_min_runtime
    }
}

/// What looks like a mistake in the queues of a group; never a refusal.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case")]
pub struct QueueWarning {
    code: &'static str,
    queue: Option<String>,
    slot: Option<&'static str>,
    detail: String,
}

impl From<Warning> for QueueWarning {
    fn from(Warning { code, queue, slot, detail }: Warning) -> Self {
        Self { code, queue, slot, detail }
    }
}

/// What a write of queues has done.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case")]
pub struct UpsertQueuesResult {
    created_count: u64,
    changed_count: u64,
    deleted_count: u64,
    /// The queues that are new or not what they were.
    affected_queues: Vec<Queue>,
    warnings: Vec<QueueWarning>,
}

impl UpsertQueuesResult {
    pub fn new(group: &Arc<str>, done: QueuesChanged) -> Self {
        let [created_count, changed_count, deleted_count] = done.counts();
        let affected = done.changes.into_iter().filter_map(|change| change.to);
        Self {
            created_count,
            changed_count,
            deleted_count,
            affected_queues: affected
                .map(|config| Queue { group: Arc::clone(group), config: Box::new(config) })
                .collect(),
            warnings: done.warnings.into_iter().map(QueueWarning::from).collect(),
        }
    }
}
