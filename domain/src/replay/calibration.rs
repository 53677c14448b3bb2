//! The test of forecasts on a history: forecasts are made during a replay, each from its past alone, and compared with the starts that
//! follow.

use std::sync::Arc;

use serde::Serialize;

use super::history::ReplayHistory;
use super::policy::ReplayPolicy;
use super::run_round;
use super::schedulers::ReplayScheduler;
use super::simulation::{ReplaySimulation, RuntimeEstimates};
use crate::forecast::{DRAWS, RunTimeModel, RunTimeSource, StartPercentiles, median_difference};
use crate::time::{MICROS_PER_SECOND, Timestamp};

/// How good the forecasts of a replay were. Only jobs count that waited after the round of their submission. Figures of compared
/// forecasts are `None` if there are none.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ForecastCalibration {
    /// The number of jobs that waited.
    pub waited: u64,
    /// The number of those for which a forecast was made.
    pub asked: u64,
    /// The number of forecasts that said a time.
    pub known: u64,
    /// The number of those whose 90th percentile is after the last submission of the history. They are not compared with the starts,
    /// because from there on no jobs come that a forecast has to expect.
    pub beyond_history: u64,
    /// The part of the compared forecasts whose interval from the 10th to the 90th percentile has the start.
    pub coverage: Option<f64>,
    /// The parts of the compared forecasts whose job started before the 10th percentile, and after the 90th.
    pub earlier: Option<f64>,
    pub later: Option<f64>,
    /// The median of the difference between the 50th percentile and the start, in seconds; of the same jobs as the next one.
    pub median_error_seconds: Option<f64>,
    /// The same with the method of `squeue --start`, for which it says a time too: every job runs as long as the scheduler
    /// expects, and none is submitted later.
    pub announced_error_seconds: Option<f64>,
    /// The median wait from the forecast to the start, in seconds.
    pub median_wait_seconds: Option<f64>,
}

/// A forecast that was made in a replay.
struct MadeForecast {
    job: u32,
    made_at: Timestamp,
    known: Option<StartPercentiles>,
    /// The start by expected run times.
    announced: Option<Timestamp>,
}

/// Replays a history with a policy, and makes a forecast for each `every`th job that waits.
pub fn calibrate(
    history: &ReplayHistory,
    policy: &ReplayPolicy,
    scheduler: &dyn ReplayScheduler,
    estimates: RuntimeEstimates,
    every: u32,
) -> ForecastCalibration {
    let Some(mut simulation) = ReplaySimulation::new(history, policy, estimates) else {
        return ForecastCalibration::default();
    };
    let (mut model, mut ended, mut submitted, mut waited) = (Arc::new(RunTimeModel::default()), 0, 0, 0_u64);
    let mut made: Vec<MadeForecast> = Vec::new();
    while let Some(now) = simulation.advance_to_next_event() {
        run_round(&mut simulation, scheduler);
        ended = simulation.add_ended_jobs(Arc::make_mut(&mut model), ended);
        let (waiting, arrived) = simulation.find_waiting(submitted);
        submitted = arrived;
        for job in waiting {
            if waited % u64::from(every.max(1)) == 0 {
                let mut forecast = |source, with_submissions, draws| {
                    let input = simulation.forecast_input(job, source, scheduler.backfill(), with_submissions);
                    let (place, input) = input?;
                    input.forecast_some(place..place + 1, u64::from(job), draws).first()?.known()
                };
                let known = forecast(RunTimeSource::Learned(Arc::clone(&model)), true, DRAWS);
                let announced = forecast(RunTimeSource::Expected, false, 1).map(|announced| announced.p50);
                made.push(MadeForecast { job, made_at: now, known, announced });
            }
            waited += 1;
        }
    }
    let starts = simulation.into_starts();
    let last_submission = history.jobs.last().map_or(Timestamp::MAX, |job| job.submitted_at);
    ForecastCalibration { waited, ..ForecastCalibration::of(&made, &starts, last_submission) }
}

impl ForecastCalibration {
    fn of(made: &[MadeForecast], starts: &[Option<Timestamp>], last_submission: Timestamp) -> Self {
        let known: Vec<(&MadeForecast, StartPercentiles, Timestamp)> = made
            .iter()
            .filter_map(|forecast| Some((forecast, forecast.known?, starts[forecast.job as usize]?)))
            .collect();
        // The forecast decides, and not the start, so that jobs that start late are not left out more than others.
        let compared: Vec<_> = known.iter().filter(|(_, said, _)| said.p90 <= last_submission).collect();
        let part = |count: usize| (!compared.is_empty()).then(|| count as f64 / compared.len() as f64);
        let covered = compared.iter().filter(|(_, said, start)| said.include(*start, 0)).count();
        let both_methods = compared.iter().filter_map(|(made, said, start)| Some((made.announced?, said.p50, *start)));
        let (errors, announced): (Vec<_>, Vec<_>) =
            both_methods.map(|(announced, said, start)| ((said, start), (announced, start))).unzip();
        let waits = compared.iter().map(|(made, _, start)| (made.made_at, *start));
        Self {
            waited: 0,
            asked: made.len() as u64,
            known: known.len() as u64,
            beyond_history: (known.len() - compared.len()) as u64,
            coverage: part(covered),
            earlier: part(compared.iter().filter(|(_, said, start)| *start < said.p10).count()),
            later: part(compared.iter().filter(|(_, said, start)| *start > said.p90).count()),
            median_error_seconds: median_seconds(errors),
            announced_error_seconds: median_seconds(announced),
            median_wait_seconds: median_seconds(waits),
        }
    }
}

/// The median of the differences of pairs of times, in seconds; `None` if there are no pairs.
fn median_seconds(pairs: impl IntoIterator<Item = (Timestamp, Timestamp)>) -> Option<f64> {
    median_difference(pairs).map(|micros| micros as f64 / MICROS_PER_SECOND as f64)
}
