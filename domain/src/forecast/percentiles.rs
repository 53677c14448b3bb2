//! The forecast of one workload.

use crate::time::Timestamp;

/// The reason why nothing is known of a start yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownStart {
    /// No agent is known, so that nothing is known of the room.
    NoAgents,
    /// Too few jobs have ended to know how long they run.
    FewEndedJobs,
    /// The minimum of its members does not fit, even if nothing runs, or is above the limit of its queue.
    DoesNotFit,
    /// In more than a tenth of the draws it does not start within four weeks.
    NothingEnds,
    /// The draws were ended before its start, because too much would happen until then.
    TooManyEvents,
}

impl UnknownStart {
    pub const ALL: [Self; 5] =
        [Self::NoAgents, Self::FewEndedJobs, Self::DoesNotFit, Self::NothingEnds, Self::TooManyEvents];

    /// The name of the reason in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoAgents => "no_agents",
            Self::FewEndedJobs => "few_ended_jobs",
            Self::DoesNotFit => "does_not_fit",
            Self::NothingEnds => "nothing_ends",
            Self::TooManyEvents => "too_large",
        }
    }
}

/// The times before which a workload starts in 10, 50 and 90 of a hundred draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartPercentiles {
    pub p10: Timestamp,
    pub p50: Timestamp,
    pub p90: Timestamp,
}

impl StartPercentiles {
    /// True if a start lies between the 10th and the 90th percentile, or at most `tolerance` microseconds outside.
    pub fn include(&self, start: Timestamp, tolerance: i64) -> bool {
        self.p10.plus_micros(-tolerance) <= start && start <= self.p90.plus_micros(tolerance)
    }
}

/// The median of the differences of pairs of times, in microseconds: the upper one of two in the middle. `None`: there are no
/// pairs.
pub fn median_difference(pairs: impl IntoIterator<Item = (Timestamp, Timestamp)>) -> Option<u64> {
    let difference = |(one, other): (Timestamp, Timestamp)| one.micros().abs_diff(other.micros());
    let mut differences: Vec<u64> = pairs.into_iter().map(difference).collect();
    differences.sort_unstable();
    differences.get(differences.len() / 2).copied()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartForecast {
    Known(StartPercentiles),
    Unknown(UnknownStart),
}

impl StartForecast {
    /// The forecast from the starts in all draws, in microseconds after now; `None`: it did not start in that draw. `otherwise` is
    /// the reason if too many draws have none.
    pub(super) fn of_starts(now: Timestamp, mut starts: Vec<Option<i64>>, otherwise: UnknownStart) -> Self {
        // Starts that did not happen come last.
        starts.sort_unstable_by_key(|start| start.unwrap_or(i64::MAX));
        let percentile = |percent: usize| {
            let place = nearest_rank(starts.len(), percent);
            starts.get(place).copied().flatten().map(|micros| now.plus_micros(micros))
        };
        match (percentile(10), percentile(50), percentile(90)) {
            (Some(p10), Some(p50), Some(p90)) => Self::Known(StartPercentiles { p10, p50, p90 }),
            _ => Self::Unknown(otherwise),
        }
    }

    pub fn known(self) -> Option<StartPercentiles> {
        match self {
            Self::Known(percentiles) => Some(percentiles),
            Self::Unknown(_) => None,
        }
    }
}

/// The place, from 0, of a percentile among `count` sorted values, by the nearest rank.
pub(crate) fn nearest_rank(count: usize, percent: usize) -> usize {
    (count * percent).div_ceil(100).max(1) - 1
}
