//! A queue as input of a tree: its configuration, and observed figures where the input gives them. As JSON it is one
//! object with the keys of the stateless requests.

use std::sync::Arc;

use serde::Deserialize;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::assignment::{DEFAULT_QUEUE, QueueConfigs};
use super::config::{QueueConfig, queue_keys};
use super::values::{Bound, OverQuotaBy, OverQuotaWeight, QueueMode};
use crate::decimal::Amount;
use crate::slots::{SlotAmounts, SlotMap};
use crate::time::Timestamp;

/// One queue as it is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "OneObject")]
pub struct QueueSpec {
    pub config: Arc<QueueConfig>,
    pub given: GivenFigures,
}

/// The observed figures of a queue that the input gives. Figures that are absent are summed up from kernels or
/// descendants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenFigures {
    /// Allocated and pending. A parent's is the sum over its descendants unless it is given.
    pub request: Option<SlotAmounts>,
    pub allocated: Option<SlotAmounts>,
    pub allocated_non_preemptible: Option<SlotAmounts>,
    /// Normalised decayed usage by slot, for the history gain (DIVISION §2.5).
    pub usage: SlotAmounts,
    /// The request of the queue's next workload, for the queue order (DIVISION §5).
    pub next_request: Option<SlotAmounts>,
}

impl QueueSpec {
    pub fn named(name: impl Into<String>) -> Self {
        QueueConfig::named(name).into()
    }

    /// The queues of a group by name, with `default` last unless it is configured.
    pub fn of_group(queues: &QueueConfigs) -> Vec<Self> {
        let mut specs: Vec<Self> = queues.values().map(Arc::clone).map(Self::from).collect();
        if !queues.contains_key(DEFAULT_QUEUE) {
            specs.push(Self::named(DEFAULT_QUEUE));
        }
        specs
    }
}

impl From<QueueConfig> for QueueSpec {
    fn from(config: QueueConfig) -> Self {
        Arc::new(config).into()
    }
}

impl From<Arc<QueueConfig>> for QueueSpec {
    fn from(config: Arc<QueueConfig>) -> Self {
        Self { config, given: GivenFigures::default() }
    }
}

macro_rules! one_object {
    ($($(#[$schema:meta])* $key:ident: $type:ty = $default:expr, $config:tt [$($said:tt)?] $output:tt $input:tt;)*) => {
        /// One queue as it is given.
        #[derive(Deserialize, ToSchema)]
        #[serde(default, deny_unknown_fields)]
        #[schema(as = Queue)]
        struct OneObject {
            name: String,
            $($(#[doc = $said])? $(#[$schema])* $key: $type,)*
            /// Allocated and pending. A parent's is the sum over its descendants unless it is given.
            request: Option<SlotAmounts>,
            allocated: Option<SlotAmounts>,
            allocated_non_preemptible: Option<SlotAmounts>,
            /// Normalised decayed usage by slot, for the history gain (DIVISION §2.5).
            usage: SlotAmounts,
            /// The request of the queue's next workload, for the queue order (DIVISION §5).
            next_request: Option<SlotAmounts>,
        }

        impl Default for OneObject {
            fn default() -> Self {
                Self {
                    name: String::new(),
                    $($key: $default,)*
                    request: None,
                    allocated: None,
                    allocated_non_preemptible: None,
                    usage: SlotAmounts::default(),
                    next_request: None,
                }
            }
        }

        impl From<OneObject> for QueueSpec {
            fn from(object: OneObject) -> Self {
                let OneObject { name, $($key,)* .. } = object;
                let OneObject { request, allocated, allocated_non_preemptible, usage, next_request, .. } = object;
                Self {
                    config: Arc::new(QueueConfig { name, $($key,)* }),
                    given: GivenFigures { request, allocated, allocated_non_preemptible, usage, next_request },
                }
            }
        }
    };
}
queue_keys!(one_object);

impl PartialSchema for QueueSpec {
    fn schema() -> RefOr<Schema> {
        OneObject::schema()
    }
}

impl ToSchema for QueueSpec {
    fn name() -> std::borrow::Cow<'static, str> {
        OneObject::name()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        OneObject::schemas(schemas);
    }
}
