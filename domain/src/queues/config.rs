//! The configuration of a queue (DIVISION §1) and the only list of its keys. It does not contain what the queue holds
//! and asks for, because that is observed.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::values::{Bound, OverQuotaBy, OverQuotaWeight, QueueMode};
use crate::decimal::Amount;
use crate::slots::{SlotAmounts, SlotMap};
use crate::time::Timestamp;

/// The largest minimum runtime of a queue, in seconds.
pub const MAX_RUNTIME_SECONDS: u64 = 4_294_967_295;

/// Calls the macro `$make` with every key of a queue besides its name. The configuration below, the queue of a
/// simulation, the row in the database and the types of GraphQL are made from this list. An entry is
/// `key: type = default`, and then what the documents say of the key: as it is configured, in a simulation, in an answer
/// of GraphQL, in an input of GraphQL.
#[macro_export]
macro_rules! queue_keys {
    ($make:ident) => {
        $make! {
            parent: Option<String> = None, [] [] ["Null: a root."] [];
            priority: i32 = 0, [] ["Higher is served first."] ["Higher is served first."] [];
            weight: Amount = Amount::whole(1),
                [] ["For `min_share`, `proportion` and `drf`."] ["For `min_share`, `proportion` and `drf`."] [];
            mode: QueueMode = QueueMode::default(), [] [] [] [];
            created_at: Option<Timestamp> = None,
                ["Absent in a write: the queue keeps its age, a new one is as old as the write."] [] []
                ["Left out: a queue keeps its age, a new one is as old as the write."];
            #[schema(schema_with = $crate::schemas::bounds_schema)]
            quota: SlotMap<Bound> = SlotMap::default(),
                [] ["Absent slot: 0."] ["By slot; a slot that is not in it has 0."] ["By slot: amounts, or `unlimited`."];
            #[schema(schema_with = $crate::schemas::bounds_schema)]
            limit: SlotMap<Bound> = SlotMap::default(),
                [] ["Absent slot: unlimited."] ["By slot; a slot that is not in it is unlimited."] [];
            guarantee: SlotAmounts = SlotAmounts::default(), [] [] [] [];
            over_quota_weight: OverQuotaWeight = OverQuotaWeight::default(),
                [] [] ["One number, or numbers by slot."] ["One number, or numbers by slot."];
            children_over_quota_by: OverQuotaBy = OverQuotaBy::default(), [] [] [] [];
            min_share_ratio: Amount = Amount::ZERO,
                [] ["A ratio of the whole group, at every depth."] ["A part of the whole group."] [];
            reclaimable: bool = true, [] [] [] [];
            preempt_min_runtime: Option<u64> = None, ["Seconds."] ["Seconds."] ["Seconds."] ["Seconds."];
            reclaim_min_runtime: Option<u64> = None, ["Seconds."] ["Seconds."] ["Seconds."] ["Seconds."];
        }
    };
}
pub use queue_keys;

macro_rules! configuration {
    ($($(#[$schema:meta])* $key:ident: $type:ty = $default:expr, [$($said:tt)?] $simulation:tt $output:tt $input:tt;)*) => {
        /// One queue as it is configured. Absent keys have the defaults of [`QueueSpec`].
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
        #[serde(default, deny_unknown_fields)]
        #[schema(example = json!({
            "name": "vision", "parent": "research", "priority": 0, "weight": "1", "mode": "fair",
            "created_at": "2026-01-13T10:00:00Z", "quota": {"cuda.device": "4"}, "limit": {"cuda.device": "16"},
            "guarantee": {}, "over_quota_weight": "2", "children_over_quota_by": "weight", "min_share_ratio": "0",
            "reclaimable": true, "preempt_min_runtime": null, "reclaim_min_runtime": 600
        }))]
        pub struct QueueConfig {
            pub name: String,
            $($(#[doc = $said])? $(#[$schema])* pub $key: $type,)*
        }

        impl Default for QueueConfig {
            fn default() -> Self {
                Self { name: String::new(), $($key: $default,)* }
            }
        }
    };
}
queue_keys!(configuration);

impl QueueConfig {
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}
