//! The report of a replay: what really happened, and the result of each policy.

use std::thread;

use serde::Serialize;

use crate::domain::replay::calibration::{ForecastCalibration, calibrate};
use crate::domain::replay::history::{ReplayHistory, TraceJob};
use crate::domain::replay::policy::ReplayPolicy;
use crate::domain::replay::report::{JobStarts, PolicyOutcome};
use crate::domain::replay::schedulers;
use crate::domain::replay::simulate;
use crate::domain::replay::simulation::RuntimeEstimates;
use crate::domain::slots::SlotAmounts;
use crate::domain::time::Timestamp;

/// The settings that all policies share.
pub(super) struct ReplaySetup {
    pub scheduler: &'static dyn schedulers::ReplayScheduler,
    pub estimates: RuntimeEstimates,
    /// A forecast is made for each job of this number that waits, such as each tenth; `None`: for none.
    pub forecasts: Option<u32>,
}

/// How good the forecasts under a policy were.
#[derive(Serialize)]
pub(super) struct PolicyForecasts {
    pub policy: String,
    #[serde(flatten)]
    pub calibration: ForecastCalibration,
}

#[derive(Serialize)]
pub(super) struct ReplayReport {
    pub jobs: u64,
    pub owners: u64,
    pub first_submission: Timestamp,
    pub last_submission: Timestamp,
    /// The largest capacity.
    pub capacity: SlotAmounts,
    pub scheduler: &'static str,
    /// The outcome that `wait_change` compares with; `None` if there is none.
    pub compared_with: Option<String>,
    pub notes: Vec<String>,
    /// The real history, with the weights of the first policy.
    pub recorded: PolicyOutcome,
    pub policies: Vec<PolicyOutcome>,
    /// For each policy, if forecasts were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forecasts: Vec<PolicyForecasts>,
}

/// The name of the outcome that really happened.
const RECORDED_OUTCOME: &str = "recorded";

impl ReplayReport {
    pub fn new(history: &ReplayHistory, policies: &[ReplayPolicy], setup: &ReplaySetup, notes: Vec<String>) -> Self {
        let really: Vec<Option<Timestamp>> = history.jobs.iter().map(|job| Some(job.started_at)).collect();
        let recorded =
            PolicyOutcome::of(history, &JobStarts { name: RECORDED_OUTCOME, starts: &really, policy: &policies[0] });
        let mut outcomes = outcomes(history, policies, setup);
        let compared_with = if history.waits_known() {
            for outcome in &mut outcomes {
                outcome.compare(&recorded);
            }
            Some(RECORDED_OUTCOME.to_owned())
        } else {
            let first = (outcomes.len() > 1).then(|| outcomes[0].clone());
            if let Some(first) = &first {
                for outcome in &mut outcomes[1..] {
                    outcome.compare(first);
                }
            }
            first.map(|first| first.policy)
        };
        let submitted = |job: &TraceJob| job.submitted_at;
        Self {
            jobs: history.jobs.len() as u64,
            owners: history.owners.len() as u64,
            first_submission: history.jobs.first().map_or(Timestamp::EPOCH, submitted),
            last_submission: history.jobs.last().map_or(Timestamp::EPOCH, submitted),
            capacity: history.most_offered(),
            scheduler: setup.scheduler.name(),
            compared_with,
            notes,
            recorded,
            policies: outcomes,
            forecasts: setup.forecasts.map(|every| forecasts(history, policies, setup, every)).unwrap_or_default(),
        }
    }

    /// The real history, then the policies.
    pub fn all(&self) -> impl Iterator<Item = &PolicyOutcome> {
        std::iter::once(&self.recorded).chain(&self.policies)
    }
}

fn outcomes(history: &ReplayHistory, policies: &[ReplayPolicy], setup: &ReplaySetup) -> Vec<PolicyOutcome> {
    of_each(policies, |policy| {
        let starts = simulate(history, policy, setup.scheduler, setup.estimates);
        PolicyOutcome::of(history, &JobStarts { name: &policy.name, starts: &starts, policy })
    })
}

fn forecasts(
    history: &ReplayHistory,
    policies: &[ReplayPolicy],
    setup: &ReplaySetup,
    every: u32,
) -> Vec<PolicyForecasts> {
    of_each(policies, |policy| {
        let calibration = calibrate(history, policy, setup.scheduler, setup.estimates, every);
        PolicyForecasts { policy: policy.name.clone(), calibration }
    })
}

/// Policies are independent, so as many are simulated at the same time as there are processors.
fn of_each<T: Send>(policies: &[ReplayPolicy], one: impl Fn(&ReplayPolicy) -> T + Sync) -> Vec<T> {
    let at_once = thread::available_parallelism().map_or(1, usize::from);
    let (mut outcomes, one) = (Vec::with_capacity(policies.len()), &one);
    for some in policies.chunks(at_once) {
        thread::scope(|scope| {
            let running: Vec<_> = some.iter().map(|policy| scope.spawn(move || one(policy))).collect();
            let ended = running.into_iter().map(|thread| match thread.join() {
                Ok(outcome) => outcome,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            outcomes.extend(ended);
        });
    }
    outcomes
}
