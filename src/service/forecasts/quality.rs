//! How good the forecasts of a group were: what the first forecast of each workload said, beside its start.

use serde::{Deserialize, Serialize};

use crate::domain::forecast::median_difference;
use crate::domain::time::MICROS_PER_SECOND;
use crate::store::forecasts::ForecastOutcome;

/// The number of starts that are looked at.
pub const MAX_STARTS: u64 = 200;
/// The number of starts from which on forecasts that were bad are not shown.
const MIN_STARTS: u32 = 50;
/// The part of the starts, of a hundred, that must be in their intervals for forecasts to be shown.
const MIN_COVERAGE: u32 = 60;
/// Forecasts are made once a minute, so that a start within a minute of the interval counts as in it.
const TOLERANCE: i64 = 60 * MICROS_PER_SECOND;

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForecastQuality {
    /// The number of starts, the last ones.
    pub starts: u32,
    /// The number of starts between the 10th and the 90th percentile.
    pub inside: u32,
    /// The median time between the 50th percentile and the start; `None`: there were no starts.
    pub median_error_seconds: Option<u64>,
}

impl ForecastQuality {
    pub fn of(outcomes: &[ForecastOutcome]) -> Self {
        let is_inside = |outcome: &&ForecastOutcome| outcome.start.include(outcome.started_at, TOLERANCE);
        let median_error = median_difference(outcomes.iter().map(|outcome| (outcome.start.p50, outcome.started_at)));
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            starts: count(outcomes.len()),
            inside: count(outcomes.iter().filter(is_inside).count()),
            median_error_seconds: median_error.map(|micros| micros / MICROS_PER_SECOND.unsigned_abs()),
        }
    }

    /// The part of the starts that were inside of their intervals; `None`: there were none.
    pub fn coverage(&self) -> Option<f64> {
        (self.starts > 0).then(|| f64::from(self.inside) / f64::from(self.starts))
    }

    /// True if too few starts were inside of their intervals, so that forecasts are not shown.
    pub fn is_too_low(&self) -> bool {
        self.starts >= MIN_STARTS && self.inside * 100 < self.starts * MIN_COVERAGE
    }
}
