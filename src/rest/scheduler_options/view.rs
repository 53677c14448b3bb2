use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::service::PublishedGroup;
use crate::service::groups::SchedulerPatch;

/// A group's scheduler and its options in force, defaults included.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "scheduler": "fairshare",
    "scheduler_opts": {
        "half_life_days": 7, "lookback_days": 28, "decay_unit_days": 1, "slice_interval_seconds": 300,
        "default_weight": "1.0", "gap_policy": "interpolate", "max_gap_hours": 24, "resource_weights": {}, "decay": "flat",
        "division": {"algorithm": "quota_over_quota", "options": {"rounding": "exact", "history_gain": "0"}}, "order": "flat"
    }
}))]
pub struct SchedulerOptions {
    /// `fifo`, `lifo`, `drf`, `fairshare`, `saturation` or `score`.
    pub scheduler: &'static str,
    #[schema(value_type = Object)]
    pub scheduler_opts: Map<String, Value>,
}

impl From<&PublishedGroup> for SchedulerOptions {
    fn from(group: &PublishedGroup) -> Self {
        Self { scheduler: group.scheduler.name(), scheduler_opts: group.options.to_json() }
    }
}

/// Changes, merged key by key.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"scheduler": "fairshare", "scheduler_opts": {"half_life_days": 14}}))]
pub struct SchedulerOptionsPatch {
    /// `fairshare`, `fifo`, `lifo`, `drf`, `saturation` or `score`.
    pub scheduler: Option<String>,
    /// `null` sets an option back to its default.
    #[schema(value_type = Option<Object>)]
    pub scheduler_opts: Option<Map<String, Value>>,
    /// Why, for the audit log.
    pub reason: Option<String>,
}

impl SchedulerOptionsPatch {
    pub fn into_patch(self, if_match: Option<String>) -> SchedulerPatch {
        let Self { scheduler, scheduler_opts, reason } = self;
        SchedulerPatch { scheduler, scheduler_opts, reason, if_match }
    }
}
