//! A group's scheduler and options as REST shows them, and the body that changes them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::api::input_warning::InputWarning;
use crate::domain::reading::ReadOnly;
use crate::rest::paths::same_as_path;
use crate::service::groups::SchedulerPatch;
use crate::service::input::json::UnparsedObject;
use crate::service::{Result, VisibleGroup};

/// A group's scheduler and its options in force, defaults included.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "scheduler": "fairshare",
    "scheduler_opts": {
        "half_life_days": 7, "lookback_days": 28, "decay_unit_days": 1, "slice_interval_seconds": 300,
        "default_weight": "1.0", "gap_policy": "interpolate", "max_gap_hours": 24, "resource_weights": {}, "decay": "flat",
        "division": {"algorithm": "quota_over_quota", "options": {"rounding": "exact", "history_gain": "0"}}, "order": "flat"
    },
    "warnings": [], "config_revision": "17.5b0c77e2.3fa9c2d1"
}))]
pub struct SchedulerOptions {
    #[schema(schema_with = crate::domain::schemas::sequencer)]
    pub scheduler: &'static str,
    #[schema(value_type = Object)]
    pub scheduler_opts: Map<String, Value>,
    /// Likely mistakes in the options as the group is now; never a refusal.
    pub warnings: Vec<InputWarning>,
    /// Moves with every change of the group's configuration; for `if_revision`.
    pub config_revision: String,
}

impl From<&VisibleGroup> for SchedulerOptions {
    fn from(group: &VisibleGroup) -> Self {
        Self {
            scheduler: group.scheduler.name(),
            scheduler_opts: group.options.to_json(),
            warnings: group.warnings(),
            config_revision: group.config_revision.to_string(),
        }
    }
}

/// Changes, merged key by key at every depth (RFC 7396).
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"scheduler": "fairshare", "scheduler_opts": {"half_life_days": 14}}))]
pub struct SchedulerOptionsPatch {
    #[schema(schema_with = crate::domain::schemas::some_sequencer)]
    pub scheduler: Option<String>,
    /// `null` sets an option back to its default.
    #[schema(value_type = Option<Object>)]
    pub scheduler_opts: Option<UnparsedObject>,
    /// Why, for the audit log.
    pub reason: Option<String>,
    /// The `config_revision` that the change is based on; another one refuses it with 409 `config_changed`.
    pub if_revision: Option<String>,
    /// The group of the path, if it is named at all.
    pub name: Option<String>,
    #[serde(default)]
    #[schema(inline)]
    pub capacity: ReadOnly,
    #[serde(default)]
    #[schema(inline)]
    pub calculated_at: ReadOnly,
    #[serde(default)]
    #[schema(inline)]
    pub warnings: ReadOnly,
    #[serde(default)]
    #[schema(inline)]
    pub config_revision: ReadOnly,
}

impl SchedulerOptionsPatch {
    /// The patch of the group `rg`. `if_match` is the header of that name.
    pub fn into_patch(self, rg: &str, if_match: Option<String>) -> Result<SchedulerPatch> {
        same_as_path("/name", self.name.as_deref(), rg)?;
        let Self { scheduler, scheduler_opts, reason, if_revision, .. } = self;
        let scheduler_opts = scheduler_opts.map(|given| given.into_map("scheduler_opts")).transpose()?;
        Ok(SchedulerPatch { scheduler, scheduler_opts, reason, if_match, if_revision })
    }
}
