//! Forecasts of starts as GraphQL shows them.

use async_graphql::SimpleObject;

use crate::graphql::scalars::{DateTime, JsonString};
use crate::service::forecasts::answer::{ForecastSummary, ForecastView, HelpfulChange};

/// The time at which a workload will start: three times, or the reason why it is not known.
#[derive(SimpleObject)]
#[graphql(name = "StartForecast", rename_fields = "snake_case")]
pub struct StartForecastNode {
    /// The time before which it starts in 10 of 100 possible futures; null if it is not known yet, as the next two.
    #[graphql(name = "p10")]
    p10: Option<DateTime>,
    /// The same in 50 of 100.
    #[graphql(name = "p50")]
    p50: Option<DateTime>,
    /// The same in 90 of 100.
    #[graphql(name = "p90")]
    p90: Option<DateTime>,
    /// The number of possible futures that were drawn.
    draws: u32,
    /// The reason why nothing is known yet: `no_agents`, `few_ended_jobs`, `does_not_fit`, `nothing_ends`, `too_large` or `low_coverage`; null if
    /// the start is known.
    not_known_yet: Option<String>,
    /// The time at which the forecast was made.
    as_of: DateTime,
}

/// A change of a workload with which it would start earlier.
#[derive(SimpleObject)]
#[graphql(name = "HelpfulChange", rename_fields = "snake_case")]
pub struct HelpfulChangeNode {
    /// `half_slots`, `half_time`, `queue` or `next_in_priority`.
    change: String,
    /// The other queue; null for other changes.
    queue: Option<String>,
    #[graphql(name = "p10")]
    p10: DateTime,
    #[graphql(name = "p50")]
    p50: DateTime,
    #[graphql(name = "p90")]
    p90: DateTime,
    /// The time at which this was found.
    as_of: DateTime,
}

/// The forecasts of a group as a whole, and how good they were.
#[derive(SimpleObject)]
#[graphql(name = "ForecastSummary", rename_fields = "snake_case")]
pub struct ForecastSummaryNode {
    /// The time at which the forecasts were made; null: none were made in the last ten minutes.
    as_of: Option<DateTime>,
    /// The number of possible futures that were drawn.
    draws: u32,
    /// The number of workloads that wait.
    waiting: u64,
    /// The number of those whose start is known.
    known: u64,
    /// The number of the others by the reason.
    not_known_yet: JsonString,
    /// The number of starts with a forecast that are looked at: the last 200.
    starts: u32,
    /// The number of starts between the 10th and the 90th percentile of the workload's first forecast, or within a minute of them.
    inside: u32,
    /// The part of the starts that are inside; good forecasts have 0.8. Null: there were none.
    coverage: Option<f64>,
    /// The median time in seconds between the 50th percentile and the start; null: there were none.
    median_error_seconds: Option<u64>,
    /// False if of 50 starts or more fewer than 60 % are inside: then every workload has `low_coverage`.
    shown: bool,
}

impl From<ForecastView> for StartForecastNode {
    fn from(view: ForecastView) -> Self {
        let ForecastView { p10, p50, p90, draws, not_known_yet, as_of } = view;
        let [p10, p50, p90] = [p10, p50, p90].map(|at| at.map(DateTime));
        Self { p10, p50, p90, draws, not_known_yet: not_known_yet.map(str::to_owned), as_of: DateTime(as_of) }
    }
}

impl From<HelpfulChange> for HelpfulChangeNode {
    fn from(help: HelpfulChange) -> Self {
        let HelpfulChange { change, queue, p10, p50, p90, as_of } = help;
        let [p10, p50, p90] = [p10, p50, p90].map(DateTime);
        Self { change: change.to_owned(), queue, p10, p50, p90, as_of: DateTime(as_of) }
    }
}

impl From<ForecastSummary> for ForecastSummaryNode {
    fn from(summary: ForecastSummary) -> Self {
        Self {
            as_of: summary.as_of.map(DateTime),
            draws: summary.draws,
            waiting: summary.waiting,
            known: summary.known,
            not_known_yet: JsonString::of(&summary.not_known_yet),
            starts: summary.starts,
            inside: summary.inside,
            coverage: summary.coverage,
            median_error_seconds: summary.median_error_seconds,
            shown: summary.shown,
        }
    }
}
