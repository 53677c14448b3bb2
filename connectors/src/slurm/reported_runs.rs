//! The runs that the server may have, and what has become of those that the accounting lists no more.
//!
//! A kernel is a run of a job: the job and its start. Slurm may set a start again after it was reported: nodes that save power were
//! not ready yet, or slurmctld was killed before it had saved its state. The accounting then has the job with another start, and the
//! run that was reported would never end on the server.
//!
//! So the connector remembers each run that it reports for as long as a reading has to list it: until it has ended, and its end lies
//! before the reading begins. A run that a reading lacks is looked up by its job:
//! - The accounting has it, with an end that it has learned late: the end is reported.
//! - The accounting has the job, and no such run: the run never was. It is taken back, so that it ends at its start and has used
//!   nothing.
//! - The accounting does not have the job any more, or has it as running while slurmctld does not know it: after [`LOST_MICROS`] a
//!   run that slurmctld had listed ends when it listed it last. If the accounting learns of an end later, that one counts.
//!
//! Invariants:
//! - A run is on disk before it is reported, and stays there until the server has its end, so that a process that is killed forgets
//!   none.
//! - No run ends because slurmctld does not list it while slurmctld lists less than half of the runs: it may have lost its state, or
//!   hide jobs from the connector.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use domain::time::{MICROS_PER_MINUTE, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::sacct::{AccountedRun, JobRecords};
use crate::state_file::{read_file, replace_file};

const MEMORY_FILE: &str = "runs.json";
/// The time for which slurmctld has to lack a job that the accounting has as running, in microseconds.
pub const LOST_MICROS: i64 = 10 * MICROS_PER_MINUTE;

/// The state of a run, by the accounting or in spite of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RunState {
    Running,
    Ended,
    /// The accounting has the job, and no such run.
    TakenBack,
    /// It has ended although the accounting has no end of it.
    Lost,
}

/// A run that was reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ReportedRun {
    job: String,
    started_at: Timestamp,
    state: RunState,
    /// The end that was reported; `None` while it runs.
    ended_at: Option<Timestamp>,
    /// The report, without the end of the line.
    line: String,
    /// The reading since which the report is as it is.
    noted_at: Timestamp,
    /// The last reading at which slurmctld listed the job.
    listed_at: Option<Timestamp>,
    /// The first of the readings since then at which it did not.
    missing_since: Option<Timestamp>,
}

/// The job and the start of a run.
type RunKey = (String, Timestamp);

/// The circumstances of a reading.
#[derive(Clone, Copy, Debug)]
pub struct ReadingMoment<'a> {
    pub now: Timestamp,
    /// The reading lists the runs that were under way then or later.
    pub window_start: Timestamp,
    /// The server has all that was reported with the readings until then.
    pub delivered_until: Option<Timestamp>,
    /// The jobs that slurmctld lists; `None` if these cannot be compared with the accounting, such as while slurmdbd is behind.
    pub listed_jobs: Option<&'a BTreeSet<String>>,
}

/// The runs that readings of the accounting have to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportedRuns(BTreeMap<RunKey, ReportedRun>);

impl ReportedRuns {
    /// Reads the runs; none if there is no file.
    pub fn load(folder: &Path) -> io::Result<Self> {
        let runs: Vec<ReportedRun> = read_file(&folder.join(MEMORY_FILE))?;
        Ok(Self(runs.into_iter().map(|run| ((run.job.clone(), run.started_at), run)).collect()))
    }

    pub fn save(&self, folder: &Path) -> io::Result<()> {
        let runs: Vec<&ReportedRun> = self.0.values().collect();
        replace_file(&folder.join(MEMORY_FILE), &serde_json::to_vec(&runs)?)
    }

    /// Forgets the runs of which the server has the end and no reading from `window_start` on need list them. Returns the jobs of the
    /// others that `reading` lacks.
    pub fn missing_jobs(&mut self, reading: &[AccountedRun], moment: ReadingMoment) -> BTreeSet<String> {
        self.0.retain(|_, run| {
            let is_over = match run.state {
                RunState::Running | RunState::Lost => false,
                RunState::Ended => run.ended_at.is_some_and(|end| end <= moment.window_start),
                RunState::TakenBack => true,
            };
            !is_over || run.is_waiting(moment)
        });
        let listed: BTreeSet<(&str, Timestamp)> = reading.iter().map(|run| (&*run.job, run.started_at)).collect();
        let is_missing = |run: &&ReportedRun| run.has_to_be_listed() && !listed.contains(&(&*run.job, run.started_at));
        self.0.values().filter(is_missing).map(|run| run.job.clone()).collect()
    }

    /// Notes a reading, with the records of the missing jobs. Returns the lines of the report.
    pub fn note(
        &mut self,
        reading: Vec<AccountedRun>,
        records: &BTreeMap<String, JobRecords>,
        moment: ReadingMoment,
    ) -> Vec<u8> {
        // A clock that was set back must not make a new report look like one that the server has.
        let noted_at = moment.delivered_until.map_or(moment.now, |until| moment.now.max(until.plus_micros(1)));
        let mut listed: BTreeSet<RunKey> = BTreeSet::new();
        for run in longest_runs(reading).into_values() {
            listed.insert((run.job.clone(), run.started_at));
            self.note_run(run, noted_at);
        }
        let missing: Vec<RunKey> = self
            .0
            .iter()
            .filter(|(key, run)| run.has_to_be_listed() && !listed.contains(*key))
            .map(|(key, _)| key.clone())
            .collect();
        for key in missing {
            self.note_missing(&key, records.get(&key.0), noted_at);
        }
        self.note_lost(moment, noted_at);
        let mut lines = Vec::new();
        for (_, run) in self.0.iter().filter(|(key, run)| listed.contains(*key) || run.is_waiting(moment)) {
            lines.extend_from_slice(run.line.as_bytes());
            lines.push(b'\n');
        }
        lines
    }

    /// Notes a run that the accounting has.
    fn note_run(&mut self, run: AccountedRun, now: Timestamp) {
        let AccountedRun { job, started_at, ended_at, line } = run;
        let state = if ended_at.is_some() { RunState::Ended } else { RunState::Running };
        match self.0.entry((job.clone(), started_at)) {
            Entry::Vacant(vacant) => {
                let (noted_at, listed_at, missing_since) = (now, None, None);
                vacant.insert(ReportedRun {
                    job,
                    started_at,
                    state,
                    ended_at,
                    line,
                    noted_at,
                    listed_at,
                    missing_since,
                });
            }
            Entry::Occupied(mut known) => {
                let known = known.get_mut();
                // The server does not let a run go on that was reported as ended. The end that the accounting learns counts again.
                let is_ended_here = matches!(known.state, RunState::TakenBack | RunState::Lost);
                if (is_ended_here && ended_at.is_none()) || (known.state == state && known.line == line) {
                    return;
                }
                (known.state, known.ended_at, known.line, known.noted_at) = (state, ended_at, line, now);
            }
        }
    }

    /// Notes a run that the reading lacks. `records` are those of its job; `None` if the accounting does not have the job.
    fn note_missing(&mut self, key: &RunKey, records: Option<&JobRecords>, now: Timestamp) {
        let Some(run) = self.0.get_mut(key) else { return };
        let Some(records) = records else {
            // The end that was assumed is the last word on a run that is not in the accounting any more.
            if run.state == RunState::Lost {
                run.state = RunState::Ended;
            }
            return;
        };
        if let Some(found) = records.runs.iter().find(|found| found.started_at == key.1) {
            self.note_run(found.clone(), now);
        } else if !records.starts.contains(&key.1) && records.unreadable_rows == 0 {
            tracing::info!(job = key.0, started_at = %key.1, "Slurm has set the start of a job again, so that its run is taken back");
            run.end_by_us(RunState::TakenBack, key.1, now);
        }
    }

    fn running(&mut self) -> impl Iterator<Item = &mut ReportedRun> {
        self.0.values_mut().filter(|run| run.state == RunState::Running)
    }

    /// Ends the runs that slurmctld has not listed for long.
    fn note_lost(&mut self, moment: ReadingMoment, noted_at: Timestamp) {
        let now = moment.now;
        let Some(jobs) = moment.listed_jobs else {
            for run in self.running() {
                run.missing_since = None;
            }
            return;
        };
        let (mut listed, mut all) = (0, 0);
        for run in self.running() {
            all += 1;
            if jobs.contains(&run.job) {
                listed += 1;
                (run.listed_at, run.missing_since) = (Some(now), None);
            } else {
                run.missing_since.get_or_insert(now);
            }
        }
        let lost = self.running().filter_map(|run| run.lost_end(now).map(|end| (run, end)));
        if 2 * listed < all {
            let lost = lost.count();
            if lost > 0 {
                tracing::warn!(
                    lost,
                    all,
                    "slurmctld knows less than half of the runs that the accounting has as running"
                );
            }
            return;
        }
        for (run, end) in lost {
            tracing::warn!(
                job = run.job,
                "the accounting has a job as running that slurmctld does not know: `sacctmgr show runawayjobs`"
            );
            run.end_by_us(RunState::Lost, end, noted_at);
        }
    }
}

impl ReportedRun {
    /// True if the server may not have the report.
    fn is_waiting(&self, moment: ReadingMoment) -> bool {
        moment.delivered_until.is_none_or(|until| self.noted_at > until)
    }

    /// True for a run that the accounting has, if it is as it was. [`ReportedRuns::missing_jobs`] has forgotten those that ended
    /// before the reading begins.
    fn has_to_be_listed(&self) -> bool {
        self.state != RunState::TakenBack
    }

    /// The time at which the run ended if slurmctld has lost it. A run that slurmctld never listed may be one that it does not show to
    /// the connector, and is not taken for lost.
    fn lost_end(&self, now: Timestamp) -> Option<Timestamp> {
        self.missing_since.filter(|since| now.micros() - since.micros() >= LOST_MICROS)?;
        Some(self.listed_at?.max(self.started_at))
    }

    /// Ends the run in spite of the accounting.
    fn end_by_us(&mut self, state: RunState, end: Timestamp, now: Timestamp) {
        let mut report: Map<String, Value> = serde_json::from_str(&self.line).unwrap_or_default();
        // The project may have moved to another domain since.
        report.remove("domain_name");
        report.insert("status".to_owned(), "TERMINATED".into());
        report.insert("terminated_at".to_owned(), end.to_string().into());
        self.line = Value::from(report).to_string();
        (self.state, self.ended_at, self.noted_at) = (state, Some(end), now);
    }
}

/// The runs by job and start. A job that was requeued in the second of its start has two runs with one start, of which the first took
/// no time.
fn longest_runs(reading: Vec<AccountedRun>) -> BTreeMap<RunKey, AccountedRun> {
    let mut longest: BTreeMap<RunKey, AccountedRun> = BTreeMap::new();
    for run in reading {
        let end = |run: &AccountedRun| run.ended_at.unwrap_or(Timestamp::MAX);
        match longest.entry((run.job.clone(), run.started_at)) {
            Entry::Vacant(vacant) => {
                vacant.insert(run);
            }
            Entry::Occupied(mut known) if end(known.get()) < end(&run) => {
                known.insert(run);
            }
            Entry::Occupied(_) => {}
        }
    }
    longest
}
