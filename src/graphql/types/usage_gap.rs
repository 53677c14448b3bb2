//! Gaps as GraphQL shows them.

use async_graphql::SimpleObject;

use crate::graphql::scalars::{DateTime, JsonString};
use crate::service::gaps::DowntimeGap;

/// A time in which nothing served, and what it did to the usage of running kernels.
#[derive(SimpleObject)]
#[graphql(name = "UsageGap", rename_fields = "snake_case")]
pub struct UsageGapNode {
    started_at: DateTime,
    ended_at: DateTime,
    /// When a run met it.
    handled_at: DateTime,
    /// The `gap_policy` in force then.
    gap_policy: String,
    /// Kernels that ran across it.
    kernels: u64,
    /// Slot-seconds within the gap that were recorded.
    recorded_usage: JsonString,
    /// Slot-seconds within the gap that were dropped.
    dropped_usage: JsonString,
}

impl From<DowntimeGap> for UsageGapNode {
    fn from(gap: DowntimeGap) -> Self {
        Self {
            started_at: DateTime(gap.downtime.start),
            ended_at: DateTime(gap.downtime.end),
            handled_at: DateTime(gap.handled_at),
            gap_policy: gap.policy,
            kernels: gap.kernels,
            recorded_usage: JsonString::of(&gap.recorded_usage),
            dropped_usage: JsonString::of(&gap.dropped_usage),
        }
    }
}
