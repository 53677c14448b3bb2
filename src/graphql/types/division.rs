//! The division of now with its queues, and those of single days, as GraphQL shows them.

use std::sync::Arc;

use async_graphql::{Context, Object, Result, SimpleObject};

use super::QueueWarning;
use crate::domain::division::report::{QueueReport, RatioReport};
use crate::domain::division::saturation_ratios;
use crate::graphql::guard;
use crate::graphql::scalars::{Date, DateTime, JsonString};
use crate::service::division::{DivisionDay, GroupDivision, QueueFigures};

/// The amounts that every queue of a resource group deserves now.
pub struct Division(pub GroupDivision);

/// Why a queue gets what it gets.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case")]
pub struct QueueTrace {
    queue: String,
    sentence: String,
    /// Each step that gave it something.
    steps: JsonString,
}

#[Object(rename_fields = "snake_case")]
impl Division {
    async fn resource_group(&self) -> &str {
        &self.0.group.name
    }

    async fn calculated_at(&self) -> DateTime {
        DateTime(self.0.division.calculated_at)
    }

    /// `quota_over_quota`, `min_share`, `proportion` or `drf`.
    async fn algorithm(&self) -> &str {
        self.0.division.algorithm
    }

    /// The group's option `division`.
    async fn options(&self) -> JsonString {
        JsonString(self.0.group.options.division.to_json())
    }

    async fn capacity(&self) -> JsonString {
        let tree = &self.0.division.tree;
        JsonString::of(&tree.amounts(&tree.capacity))
    }

    async fn queues(&self, ctx: &Context<'_>) -> Result<Vec<QueueDivision>> {
        let division = &self.0.division;
        guard::spend_rows(ctx, division.report.queues.len())?;
        let queue = |at| QueueDivision { of: self.0.clone(), at, figures: division.figures(at) };
        Ok((0..division.report.queues.len()).map(queue).collect())
    }

    /// Siblings in the queue order, depth first.
    async fn order(&self) -> &[String] {
        &self.0.division.report.order
    }

    async fn score_order(&self) -> &[String] {
        &self.0.division.report.score_order
    }

    /// The capacity that no queue gets, by slot.
    async fn remaining(&self) -> JsonString {
        JsonString::of(&self.0.division.report.remaining)
    }

    async fn warnings(&self) -> Vec<QueueWarning> {
        self.0.division.report.warnings.iter().cloned().map(QueueWarning::from).collect()
    }

    /// Null unless asked for with `explain`.
    async fn trace(&self, ctx: &Context<'_>) -> Result<Option<Vec<QueueTrace>>> {
        let Some(trace) = &self.0.division.report.trace else { return Ok(None) };
        guard::spend_rows(ctx, trace.len())?;
        let queue_traces = trace.iter().map(|t| QueueTrace {
            queue: t.queue.clone(),
            sentence: t.sentence.clone(),
            steps: JsonString::of(&t.steps),
        });
        Ok(Some(queue_traces.collect()))
    }
}

/// The amounts that a queue gets, beside those that it holds, asks for and may have.
pub struct QueueDivision {
    of: GroupDivision,
    at: usize,
    figures: QueueFigures,
}

impl QueueDivision {
    fn share(&self) -> &QueueReport {
        &self.of.division.report.queues[self.at]
    }
}

/// Names of variants as they are in JSON.
fn name_of(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

#[Object(rename_fields = "snake_case")]
impl QueueDivision {
    async fn name(&self) -> &str {
        &self.share().name
    }

    /// Null: a root.
    async fn parent(&self) -> Option<Arc<str>> {
        self.figures.parent.clone()
    }

    async fn fair_share(&self) -> JsonString {
        JsonString::of(&self.share().fair_share)
    }

    /// The worst of its slots.
    async fn state(&self) -> String {
        name_of(&self.share().state)
    }

    async fn slot_states(&self) -> JsonString {
        JsonString::of(&self.share().slot_states)
    }

    /// Allocated / fair share, by slot; `inf` where that share is nothing.
    async fn saturation_ratio(&self) -> JsonString {
        JsonString::of(&self.share().saturation_ratio)
    }

    async fn dominant_share(&self) -> String {
        name_of(&self.share().dominant_share)
    }

    async fn score(&self) -> JsonString {
        JsonString::of(&self.share().score)
    }

    /// The ratios of `min_share`; null for other algorithms.
    async fn ratios(&self) -> Option<JsonString> {
        self.share().ratios.as_ref().map(JsonString::of)
    }

    async fn quota(&self) -> JsonString {
        JsonString::of(&self.figures.quota)
    }

    async fn limit(&self) -> JsonString {
        JsonString::of(&self.figures.limit)
    }

    /// Allocated and pending.
    async fn request(&self) -> JsonString {
        JsonString::of(&self.figures.request)
    }

    async fn allocated(&self) -> JsonString {
        JsonString::of(&self.figures.allocated)
    }

    async fn allocated_non_preemptible(&self) -> JsonString {
        JsonString::of(&self.figures.allocated_non_preemptible)
    }

    /// With a history gain: the decayed usage that it looks at, in parts of the capacity; null if there is none.
    async fn usage(&self) -> Option<JsonString> {
        self.figures.usage.as_ref().map(JsonString::of)
    }
}

/// The amounts that one queue got on one day: the last division of that day.
pub struct DivisionDayNode(pub DivisionDay);

#[Object(name = "DivisionDay", rename_fields = "snake_case")]
impl DivisionDayNode {
    async fn day(&self) -> Date {
        Date(self.0.day)
    }

    async fn queue(&self) -> &str {
        &self.0.queue
    }

    async fn algorithm(&self) -> &str {
        &self.0.algorithm
    }

    async fn fair_share(&self) -> JsonString {
        JsonString::of(&self.0.fair_share)
    }

    async fn allocated(&self) -> JsonString {
        JsonString::of(&self.0.allocated)
    }

    async fn request(&self) -> JsonString {
        JsonString::of(&self.0.request)
    }

    async fn quota(&self) -> JsonString {
        JsonString::of(&self.0.quota)
    }

    /// Allocated / fair share, by slot; `inf` where that share is nothing.
    async fn saturation_ratio(&self) -> JsonString {
        JsonString::of(&saturation_ratios(&self.0.allocated, &self.0.fair_share))
    }

    /// The ratios of `min_share`; null for other algorithms.
    async fn ratios(&self) -> Option<JsonString> {
        self.0.ratios.map(|ratios| JsonString::of(&RatioReport::from(ratios)))
    }

    async fn calculated_at(&self) -> DateTime {
        DateTime(self.0.calculated_at)
    }
}
