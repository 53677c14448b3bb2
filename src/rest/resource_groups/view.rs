//! Resource groups as REST shows them.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::api::input_warning::InputWarning;
use crate::domain::slots::SlotAmounts;
use crate::domain::time::Timestamp;
use crate::service::VisibleGroup;

/// A resource group.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "name": "gpu-cluster", "scheduler": "fairshare",
    "scheduler_opts": {
        "half_life_days": 7, "lookback_days": 28, "decay_unit_days": 1, "slice_interval_seconds": 300,
        "default_weight": "1.0", "gap_policy": "interpolate", "max_gap_hours": 24, "resource_weights": {}, "decay": "flat",
        "division": {"algorithm": "quota_over_quota", "options": {"rounding": "exact", "history_gain": "0"}}, "order": "flat"
    },
    "capacity": {"cpu": "100", "cuda.device": "16", "mem": "1099511627776"},
    "calculated_at": "2026-01-13T10:05:00Z", "warnings": [], "config_revision": "17.5b0c77e2.3fa9c2d1"
}))]
pub struct ResourceGroup {
    #[schema(value_type = String)]
    pub name: Arc<str>,
    pub scheduler: &'static str,
    /// The options in force, defaults included.
    #[schema(value_type = Object)]
    pub scheduler_opts: Map<String, Value>,
    /// The total capacity of its alive and schedulable agents.
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub capacity: SlotAmounts,
    /// When factors and ranks were last calculated.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub calculated_at: Option<Timestamp>,
    /// Likely mistakes in the options as the group is now; never a refusal.
    pub warnings: Vec<InputWarning>,
    /// Moves with every change of weights, options, agents, capacities, queues and people; for `if_revision`.
    pub config_revision: String,
}

impl From<&VisibleGroup> for ResourceGroup {
    fn from(group: &VisibleGroup) -> Self {
        Self {
            name: Arc::clone(&group.name),
            scheduler: group.scheduler.name(),
            scheduler_opts: group.options.to_json(),
            capacity: group.capacity.clone(),
            calculated_at: group.calculated_at(),
            warnings: group.warnings(),
            config_revision: group.config_revision.to_string(),
        }
    }
}

impl From<VisibleGroup> for ResourceGroup {
    fn from(group: VisibleGroup) -> Self {
        Self::from(&group)
    }
}
