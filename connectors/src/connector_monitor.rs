//! The monitor of a connector: the metrics of its rounds in the text format of Prometheus, and its readiness.
//!
//! The metrics have a recorder of their own and not that of the process, so that the families of the server are not among them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::clock::Clock;
use domain::connectors::ConnectorMode;
use metrics::{counter, describe_counter, describe_gauge, gauge, with_local_recorder};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusRecorder};

use super::outcome::RoundOutcome;

const INFO: &str = "fairshared_connector_info";
const ROUNDS: &str = "fairshared_connector_rounds_total";
const ERRORS: &str = "fairshared_connector_round_errors_total";
const ROUND_SECONDS: &str = "fairshared_connector_last_round_seconds";
const GOOD_ROUND_AGE: &str = "fairshared_connector_good_round_age_seconds";
const JOBS: &str = "fairshared_connector_jobs";
const WANTED_WRITES: &str = "fairshared_connector_wanted_writes";
const LEFT_WRITES: &str = "fairshared_connector_left_writes";
const WRITES: &str = "fairshared_connector_writes_total";
const READ_BACK_DIFFERS: &str = "fairshared_connector_read_back_differs_total";
const REPORTED_ROWS: &str = "fairshared_connector_reported_rows_total";
const REJECTED_ROWS: &str = "fairshared_connector_rejected_rows_total";
const SPOOLED_ROWS: &str = "fairshared_connector_spooled_rows";
const SPOOL_BYTES: &str = "fairshared_connector_spool_bytes";
const COMPARED_JOBS: &str = "fairshared_connector_compared_jobs";
const SAME_PLACE_JOBS: &str = "fairshared_connector_same_place_jobs";
const KENDALL_TAU: &str = "fairshared_connector_kendall_tau";

/// A connector is ready while its last good round ended at most this many polls ago.
const READY_POLLS: u32 = 4;
/// The least such time. A program of a scheduler that is away takes up to two minutes until it is given up.
const READY_MIN_TIME: Duration = Duration::from_mins(3);

/// The ends of rounds, by a steady clock.
#[derive(Default)]
struct RoundEnds {
    /// The end of the last round without a fault.
    good: Option<Duration>,
    /// The faults of the last round in one sentence, if it had any.
    fault: Option<String>,
}

/// The reason why a connector is not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadyReason {
    pub code: &'static str,
    pub detail: String,
}

/// The metrics and the readiness of a connector. The rounds write them, and requests read them.
pub struct ConnectorMonitor {
    clock: Arc<dyn Clock>,
    started: Duration,
    ready_time: Duration,
    recorder: PrometheusRecorder,
    ends: Mutex<RoundEnds>,
}

impl ConnectorMonitor {
    /// A monitor before the first round. `kind` is the kind of scheduler, and `poll` the time from one round to the next.
    pub fn new(kind: &'static str, mode: ConnectorMode, poll: Duration, clock: Arc<dyn Clock>) -> Self {
        let recorder = PrometheusBuilder::new().build_recorder();
        let version = env!("CARGO_PKG_VERSION");
        with_local_recorder(&recorder, || {
            describe_families();
            gauge!(INFO, "kind" => kind, "mode" => mode.as_str(), "version" => version).set(1);
            for outcome in ["ok", "failed"] {
                counter!(ROUNDS, "outcome" => outcome).absolute(0);
            }
            for total in [WRITES, READ_BACK_DIFFERS, REPORTED_ROWS, REJECTED_ROWS] {
                counter!(total).absolute(0);
            }
        });
        let (started, ready_time) = (clock.steady(), (poll * READY_POLLS).max(READY_MIN_TIME));
        Self { clock, started, ready_time, recorder, ends: Mutex::default() }
    }

    /// Notes a round that has ended just now, and the size of the reports that wait after it.
    pub fn record_round(&self, outcome: &RoundOutcome, spool_bytes: u64) {
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        if outcome.is_ok() {
            *ends = RoundEnds { good: Some(self.clock.steady()), fault: None };
        } else {
            ends.fault = Some(outcome.fault_sentence());
        }
        drop(ends);
        with_local_recorder(&self.recorder, || set_values(outcome, spool_bytes));
    }

    /// The metrics in the text format.
    pub fn render(&self) -> String {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let age = self.clock.steady().saturating_sub(ends.good.unwrap_or(self.started));
        drop(ends);
        with_local_recorder(&self.recorder, || gauge!(GOOD_ROUND_AGE).set(age.as_secs_f64()));
        self.recorder.handle().render()
    }

    /// Fails unless the last round went well and is recent.
    pub fn check_readiness(&self) -> Result<(), UnreadyReason> {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fault) = &ends.fault {
            return Err(UnreadyReason { code: "round_failed", detail: format!("the last round failed: {fault}") });
        }
        let Some(good) = ends.good else {
            let detail = "the first round has not ended yet".to_owned();
            return Err(UnreadyReason { code: "no_round", detail });
        };
        let age = self.clock.steady().saturating_sub(good);
        if age > self.ready_time {
            let detail = format!("the last round ended {} seconds ago", age.as_secs());
            return Err(UnreadyReason { code: "round_overdue", detail });
        }
        Ok(())
    }
}

fn describe_families() {
    describe_gauge!(INFO, "1; the kind of scheduler, the mode and the version are labels");
    describe_counter!(ROUNDS, "Rounds that have ended, by outcome");
    describe_counter!(ERRORS, "Faults of rounds, by code");
    describe_gauge!(ROUND_SECONDS, "Duration of the last round");
    describe_gauge!(
        GOOD_ROUND_AGE,
        "Time since the last round without a fault ended; since the start before the first"
    );
    describe_gauge!(
        JOBS,
        "Jobs that the last round has read, by state: `all` has the others, and `pending` those behind it"
    );
    describe_gauge!(WANTED_WRITES, "Values that differed from the order in the last round");
    describe_gauge!(LEFT_WRITES, "Values that the last round left to the next one");
    describe_counter!(WRITES, "Values that were written to the scheduler");
    describe_counter!(READ_BACK_DIFFERS, "Values that the scheduler showed otherwise than they were written");
    describe_counter!(REPORTED_ROWS, "Kernels that the server has taken");
    describe_counter!(REJECTED_ROWS, "Kernels that the server refused, and rows that could not be read");
    describe_gauge!(SPOOLED_ROWS, "Kernels that wait for the server");
    describe_gauge!(SPOOL_BYTES, "Size of the reports that wait for the server");
    describe_gauge!(COMPARED_JOBS, "Jobs whose places in both orders were compared in the last round");
    describe_gauge!(SAME_PLACE_JOBS, "Jobs with the same place in both orders");
    describe_gauge!(KENDALL_TAU, "Agreement of both orders, from -1 to 1; NaN if they were not compared");
}

fn set_values(outcome: &RoundOutcome, spool_bytes: u64) {
    let RoundOutcome { counts, compared, same_place, kendall_tau, errors, .. } = outcome;
    counter!(ROUNDS, "outcome" => if outcome.is_ok() { "ok" } else { "failed" }).increment(1);
    for error in errors {
        counter!(ERRORS, "code" => error.code.clone()).increment(1);
    }
    let jobs = [
        ("all", counts.jobs),
        ("pending", counts.pending),
        ("eligible", counts.eligible),
        ("held", counts.held),
        ("dependent", counts.dependent),
        ("limited", counts.limited),
        ("fixed", counts.fixed),
    ];
    for (state, count) in jobs {
        gauge!(JOBS, "state" => state).set(count as f64);
    }
    counter!(WRITES).increment(outcome.written);
    counter!(READ_BACK_DIFFERS).increment(outcome.read_back_differs);
    counter!(REPORTED_ROWS).increment(outcome.reported);
    counter!(REJECTED_ROWS).increment(outcome.rejected);
    for (name, value) in [
        (ROUND_SECONDS, outcome.seconds),
        (WANTED_WRITES, outcome.wanted_writes as f64),
        (LEFT_WRITES, outcome.left as f64),
        (SPOOLED_ROWS, outcome.spooled as f64),
        (SPOOL_BYTES, spool_bytes as f64),
        (COMPARED_JOBS, compared.unwrap_or_default() as f64),
        (SAME_PLACE_JOBS, same_place.unwrap_or_default() as f64),
        (KENDALL_TAU, kendall_tau.unwrap_or(f64::NAN)),
    ] {
        gauge!(name).set(value);
    }
}
