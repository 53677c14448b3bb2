//! Forecasts as all interfaces show them.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::group_forecasts::GroupForecasts;
use crate::domain::forecast::{StartForecast, StartPercentiles};
use crate::domain::time::Timestamp;

/// The reason of all workloads of a group whose forecasts were bad.
const LOW_COVERAGE: &str = "low_coverage";

/// The time at which a workload will start: three times, or the reason why it is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(example = json!({
    "p10": "2026-01-13T10:05:00Z", "p50": "2026-01-13T10:40:00Z", "p90": "2026-01-13T12:30:00Z", "draws": 64,
    "as_of": "2026-01-13T10:00:00Z"
}))]
pub struct ForecastView {
    /// The time before which it starts in 10 of 100 possible futures; absent if it is not known yet, as the next two.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub p10: Option<Timestamp>,
    /// The same in 50 of 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub p50: Option<Timestamp>,
    /// The same in 90 of 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub p90: Option<Timestamp>,
    /// The number of possible futures that were drawn.
    pub draws: u32,
    /// The reason why nothing is known yet: `no_agents`, `few_ended_jobs`, `does_not_fit`, `nothing_ends`, `too_large` or `low_coverage`; absent if
    /// the start is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub not_known_yet: Option<&'static str>,
    /// The time at which the forecast was made.
    #[schema(value_type = String, format = DateTime)]
    pub as_of: Timestamp,
}

/// A change of a workload with which it would start earlier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct HelpfulChange {
    /// `half_slots`, `half_time`, `queue` or `next_in_priority`.
    pub change: &'static str,
    /// The other queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub queue: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub p10: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub p50: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub p90: Timestamp,
    /// The time at which this was found.
    #[schema(value_type = String, format = DateTime)]
    pub as_of: Timestamp,
}

/// The forecasts of a group as a whole, and how good they were.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(example = json!({
    "as_of": "2026-01-13T10:00:00Z", "draws": 64, "waiting": 31, "known": 29, "not_known_yet": {"does_not_fit": 2}, "starts": 200,
    "inside": 163, "coverage": 0.815, "median_error_seconds": 1980, "shown": true
}))]
pub struct ForecastSummary {
    /// The time at which the forecasts were made; `null`: none were made in the last ten minutes.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub as_of: Option<Timestamp>,
    /// The number of possible futures that were drawn.
    pub draws: u32,
    /// The number of workloads that wait.
    pub waiting: u64,
    /// The number of those whose start is known.
    pub known: u64,
    /// The number of the others by the reason.
    pub not_known_yet: BTreeMap<&'static str, u64>,
    /// The number of starts with a forecast that are looked at: the last 200.
    pub starts: u32,
    /// The number of starts between the 10th and the 90th percentile of the workload's first forecast, or within a minute of them.
    pub inside: u32,
    /// The part of the starts that are inside; good forecasts have 0.8. `null`: there were none.
    pub coverage: Option<f64>,
    /// The median time in seconds between the 50th percentile and the start; `null`: there were none.
    pub median_error_seconds: Option<u64>,
    /// False if of 50 starts or more fewer than 60 % are inside: then every workload has `low_coverage`.
    pub shown: bool,
}

impl GroupForecasts {
    /// The forecast of a workload; `None`: none was made.
    pub fn view(&self, workload: &str) -> Option<ForecastView> {
        let start = self.starts.get(workload)?;
        let (times, reason) = match start {
            StartForecast::Known(_) if self.quality.is_too_low() => (None, Some(LOW_COVERAGE)),
            StartForecast::Known(StartPercentiles { p10, p50, p90 }) => (Some([*p10, *p50, *p90]), None),
            StartForecast::Unknown(reason) => (None, Some(reason.as_str())),
        };
        let time = |place: usize| times.map(|times| times[place]);
        Some(ForecastView {
            p10: time(0),
            p50: time(1),
            p90: time(2),
            draws: self.draws,
            not_known_yet: reason,
            as_of: self.as_of,
        })
    }
}

impl ForecastSummary {
    pub fn of(forecasts: Option<&GroupForecasts>) -> Self {
        let mut not_known_yet = BTreeMap::new();
        let views = forecasts.into_iter().flat_map(|made| made.starts.keys().filter_map(|id| made.view(id)));
        let (mut waiting, mut known) = (0, 0);
        for view in views {
            waiting += 1;
            match view.not_known_yet {
                Some(reason) => *not_known_yet.entry(reason).or_default() += 1,
                None => known += 1,
            }
        }
        let quality = forecasts.map(|made| made.quality).unwrap_or_default();
        Self {
            as_of: forecasts.map(|made| made.as_of),
            draws: forecasts.map_or(0, |made| made.draws),
            waiting,
            known,
            not_known_yet,
            starts: quality.starts,
            inside: quality.inside,
            coverage: quality.coverage(),
            median_error_seconds: quality.median_error_seconds,
            shown: !quality.is_too_low(),
        }
    }
}
