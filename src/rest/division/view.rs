//! The division as REST shows it: the current one with its queues, and those of single days.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::domain::division::report::{QueueReport, QueueTrace, RatioReport};
use crate::domain::division::{DivisionWarning, Fraction, saturation_ratios};
use crate::domain::options::DivisionChoice;
use crate::domain::queues::Bound;
use crate::domain::slots::{SlotAmounts, SlotMap};
use crate::domain::time::{Day, Timestamp};
use crate::service::division::{DivisionDay, GroupDivision, QueueFigures};

/// The division of a resource group.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Division, example = json!({
    "calculated_at": "2026-01-13T10:05:00Z", "algorithm": "quota_over_quota",
    "options": {
        "algorithm": "quota_over_quota",
        "options": {"history_base": "cluster", "history_gain": "0", "over_quota_by": "weight", "rounding": "exact"}
    },
    "capacity": {"cuda.device": "88"},
    "queues": [
        {
            "name": "education", "fair_share": {"cuda.device": "8"}, "state": "over_fair_share",
            "slot_states": {"cuda.device": "over_fair_share"}, "saturation_ratio": {"cuda.device": "5"},
            "dominant_share": "5", "score": {"total": "1", "priority": "1", "drf": "0", "proportion": "0"},
            "parent": null, "quota": {"cuda.device": "8"}, "limit": {"cuda.device": "unlimited"},
            "request": {"cuda.device": "96"}, "allocated": {"cuda.device": "40"},
            "allocated_non_preemptible": {"cuda.device": "0"}
        }
    ],
    "order": ["education"], "score_order": ["education"], "remaining": {"cuda.device": "80"}, "warnings": [],
    "trace": [
        {
            "queue": "education", "sentence": "gets 8 of 88 cuda.device: 8 quota",
            "steps": [{"slot": "cuda.device", "rule": "quota", "gift": "8"}]
        }
    ]
}))]
pub struct DivisionView<'a> {
    #[schema(value_type = String, format = DateTime)]
    calculated_at: Timestamp,
    #[schema(schema_with = crate::domain::schemas::algorithm)]
    algorithm: &'a str,
    /// The group's option `division`.
    #[schema(value_type = DivisionChoice)]
    options: Value,
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    capacity: SlotAmounts,
    queues: Vec<QueueDivision<'a>>,
    /// Siblings in the queue order, depth first.
    order: &'a [String],
    score_order: &'a [String],
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    remaining: &'a SlotAmounts,
    warnings: &'a [DivisionWarning],
    /// Only with `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<&'a [QueueTrace]>,
}

/// The amounts that a queue gets, beside those that it holds, asks for and may have.
#[derive(Debug, Serialize, ToSchema)]
pub struct QueueDivision<'a> {
    #[serde(flatten)]
    #[schema(inline)]
    share: &'a QueueReport,
    #[schema(value_type = Option<String>)]
    parent: Option<Arc<str>>,
    #[schema(value_type = std::collections::BTreeMap<String, Bound>)]
    quota: SlotMap<Bound>,
    #[schema(value_type = std::collections::BTreeMap<String, Bound>)]
    limit: SlotMap<Bound>,
    /// Allocated and pending.
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    request: SlotAmounts,
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    allocated: SlotAmounts,
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    allocated_non_preemptible: SlotAmounts,
    /// With a history gain: the decayed usage that it looks at, in parts of the capacity; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<std::collections::BTreeMap<String, String>>)]
    usage: Option<SlotAmounts>,
}

impl<'a> DivisionView<'a> {
    pub fn new(found: &'a GroupDivision) -> Self {
        let division = &*found.division;
        let report = &division.report;
        let queue = |(at, share): (usize, &'a QueueReport)| {
            let QueueFigures { parent, quota, limit, request, allocated, allocated_non_preemptible, usage } =
                division.figures(at);
            QueueDivision { share, parent, quota, limit, request, allocated, allocated_non_preemptible, usage }
        };
        Self {
            calculated_at: division.calculated_at,
            algorithm: division.algorithm,
            options: found.group.options.division.to_json(),
            capacity: division.tree.amounts(&division.tree.capacity),
            queues: report.queues.iter().enumerate().map(queue).collect(),
            order: &report.order,
            score_order: &report.score_order,
            remaining: &report.remaining,
            warnings: &report.warnings,
            trace: report.trace.as_deref(),
        }
    }
}

/// The amounts that one queue got on one day.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DivisionDay, example = json!({
    "day": "2026-01-13", "queue": "research", "algorithm": "quota_over_quota", "fair_share": {"cuda.device": "10"},
    "allocated": {"cuda.device": "8"}, "request": {"cuda.device": "12"}, "quota": {"cuda.device": "6"},
    "saturation_ratio": {"cuda.device": "0.8"}, "calculated_at": "2026-01-13T23:55:00Z"
}))]
pub struct DivisionDayView {
    #[schema(value_type = String, format = Date)]
    pub day: Day,
    pub queue: String,
    pub algorithm: String,
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub fair_share: SlotAmounts,
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub allocated: SlotAmounts,
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub request: SlotAmounts,
    #[schema(value_type = std::collections::BTreeMap<String, Bound>)]
    pub quota: SlotMap<Bound>,
    /// Allocated / fair share.
    #[schema(value_type = std::collections::BTreeMap<String, Fraction>)]
    pub saturation_ratio: SlotMap<Fraction>,
    #[serde(flatten)]
    #[schema(value_type = RatioReport)]
    pub ratios: Option<RatioReport>,
    #[schema(value_type = String, format = DateTime)]
    pub calculated_at: Timestamp,
}

impl From<DivisionDay> for DivisionDayView {
    fn from(row: DivisionDay) -> Self {
        let DivisionDay { day, queue, algorithm, fair_share, allocated, request, quota, ratios, calculated_at } = row;
        let (saturation_ratio, ratios) = (saturation_ratios(&allocated, &fair_share), ratios.map(RatioReport::from));
        Self { day, queue, algorithm, fair_share, allocated, request, quota, saturation_ratio, ratios, calculated_at }
    }
}
