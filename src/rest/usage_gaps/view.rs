//! Gaps as REST shows them.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::slots::SlotUsages;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};
use crate::service::gaps::DowntimeGap;

/// A time in which nothing served, and what it did to the usage of running kernels.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "id": 1, "started_at": "2026-01-12T20:00:00Z", "ended_at": "2026-01-12T22:20:00Z", "duration_seconds": 8400,
    "handled_at": "2026-01-12T22:20:00Z", "gap_policy": "interpolate", "kernels": 18,
    "recorded_usage": {"cpu": "2443116", "cuda.device": "384790"}, "dropped_usage": {}
}))]
pub struct UsageGap {
    pub id: i64,
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub ended_at: Timestamp,
    pub duration_seconds: u64,
    /// When a run met it.
    #[schema(value_type = String, format = DateTime)]
    pub handled_at: Timestamp,
    /// The `gap_policy` in force then.
    pub gap_policy: String,
    /// Kernels that ran across it.
    pub kernels: u64,
    /// Slot-seconds within the gap that were recorded.
    #[schema(value_type = BTreeMap<String, String>)]
    pub recorded_usage: SlotUsages,
    /// Slot-seconds within the gap that were dropped.
    #[schema(value_type = BTreeMap<String, String>)]
    pub dropped_usage: SlotUsages,
}

impl From<DowntimeGap> for UsageGap {
    fn from(gap: DowntimeGap) -> Self {
        Self {
            id: gap.id,
            started_at: gap.downtime.start,
            ended_at: gap.downtime.end,
            duration_seconds: gap.downtime.micros() / MICROS_PER_SECOND.unsigned_abs(),
            handled_at: gap.handled_at,
            gap_policy: gap.policy,
            kernels: gap.kernels,
            recorded_usage: gap.recorded_usage,
            dropped_usage: gap.dropped_usage,
        }
    }
}
