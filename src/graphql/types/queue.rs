//! Queues and the results of writing them, as GraphQL shows them.

use std::sync::Arc;

use async_graphql::{ID, Object, SimpleObject};

use super::queue_values::QueueValue;
use crate::domain::decimal::Amount;
use crate::domain::division::DivisionWarning;
use crate::domain::queues::{Bound, OverQuotaBy, OverQuotaWeight, QueueConfig, QueueMode, queue_keys};
use crate::domain::slots::{SlotAmounts, SlotMap};
use crate::domain::time::Timestamp;
use crate::graphql::global_id;
use crate::service::queues::QueuesChanged;

/// A queue as it is configured.
pub struct Queue {
    pub group: Arc<str>,
    pub config: Arc<QueueConfig>,
}

impl Queue {
    pub const KIND: &str = "Queue";
}

macro_rules! queue {
    ($($(#[$schema:meta])* $key:ident: $type:ty = $default:expr, $config:tt $simulation:tt [$($said:tt)?] $input:tt;)*) => {
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

            $($(#[doc = $said])? async fn $key(&self) -> <$type as QueueValue>::Output {
                self.config.$key.output()
            })*
        }
    };
}
queue_keys!(queue);

/// Likely mistakes in the queues of a group; never a refusal.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case")]
pub struct QueueWarning {
    code: &'static str,
    queue: Option<String>,
    slot: Option<&'static str>,
    detail: String,
}

impl From<DivisionWarning> for QueueWarning {
    fn from(DivisionWarning { code, queue, slot, detail }: DivisionWarning) -> Self {
        Self { code, queue, slot, detail }
    }
}

/// The result of a write of queues.
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
            affected_queues: affected.map(|config| Queue { group: Arc::clone(group), config }).collect(),
            warnings: done.warnings.into_iter().map(QueueWarning::from).collect(),
        }
    }
}
