//! The runs of Workloads, which become kernels. Kubernetes has no accounting: a Workload that is deleted is gone with all that it was. The
//! connector therefore notes each admission and its end in a file, and keeps it until the server has it.
//!
//! A run begins when the Workload is admitted. It ends when the Workload has finished, when it loses its admission, or when it is
//! deleted. A Workload that is admitted again has a second run.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use domain::time::{MICROS_PER_SECOND, Timestamp};
use serde::{Deserialize, Serialize};

use super::amounts::QuantityMapping;
use super::mirror::MirrorChange;
use super::objects::{KueueWorkload, WorkloadFacts, timestamp};
use super::owners::QueueDirectory;
use crate::accounting_window::{OVERLAP_MICROS, first_reading};
use crate::scheduler_run::SchedulerRun;
use crate::state_file::{read_file, replace_file};

const RUNS_FILE: &str = "runs.json";

/// A run with what is needed to find its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct NotedRun {
    run: SchedulerRun,
    /// The time at which the connector has noted the start, or later the end. The server may lack it if its reports end before.
    noted_at: Timestamp,
    /// The seconds that the Workload had been admitted in earlier runs, as Kueue counts them.
    past_seconds: i64,
}

/// The runs of a cluster that are under way, and those that the server may not have yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunLog {
    /// Runs by the `uid` of their Workload, in the order of their starts.
    runs: BTreeMap<String, Vec<NotedRun>>,
    /// The time of the last reading. It never goes back, so that a clock that is set back hides no end from the server.
    read_at: Option<Timestamp>,
    /// The time of the first reading.
    first_read_at: Option<Timestamp>,
}

/// The end of the run of a Workload that is shown as it is; `None` while it goes on.
fn shown_end(workload: &KueueWorkload) -> Option<Timestamp> {
    let lost = workload.condition("Admitted").filter(|condition| condition.status != "True");
    let lost = lost.map(|condition| timestamp(&condition.last_transition_time));
    workload.true_since("Finished").or(lost)
}

/// The start of the run that a Workload is in, or was in when it finished.
fn shown_start(workload: &KueueWorkload) -> Option<Timestamp> {
    workload.status.as_ref()?.admission.as_ref()?;
    Some(workload.true_since("Admitted")?.max(workload.true_since("QuotaReserved")?))
}

fn past_seconds(workload: &KueueWorkload) -> i64 {
    let status = workload.status.as_ref();
    status.and_then(|status| status.accumulated_past_execution_time_seconds).unwrap_or_default()
}

impl RunLog {
    /// Reads the log; an empty one if there is no file.
    pub fn load(folder: &Path) -> io::Result<Self> {
        read_file(&folder.join(RUNS_FILE))
    }

    pub fn save(&self, folder: &Path) -> io::Result<()> {
        replace_file(&folder.join(RUNS_FILE), &serde_json::to_vec(self)?)
    }

    /// Notes the changes of a reading. `workloads` are those that are there after it. The changes of a reading that has failed are not
    /// all that there were.
    pub fn note_reading(
        &mut self,
        changes: Vec<MirrorChange<KueueWorkload>>,
        workloads: &BTreeMap<String, KueueWorkload>,
        directory: QueueDirectory<'_>,
        mapping: &QuantityMapping,
        is_complete: bool,
        now: Timestamp,
    ) {
        let now = self.read_at.map_or(now, |read_at| now.max(read_at.plus_micros(1)));
        self.first_read_at.get_or_insert(now);
        for change in changes {
            match change {
                MirrorChange::Listed => {
                    for workload in workloads.values() {
                        self.note_workload(workload, directory, mapping, now);
                    }
                    self.close_missing(workloads, now);
                }
                MirrorChange::Seen(workload) => self.note_workload(&workload, directory, mapping, now),
                MirrorChange::Deleted(workload) => {
                    self.note_workload(&workload, directory, mapping, now);
                    let asked_at = workload.metadata.deletion_timestamp.as_ref().map(timestamp);
                    self.close(workload.metadata.uid.as_deref().unwrap_or_default(), asked_at.unwrap_or(now), now);
                }
            }
        }
        if is_complete {
            self.read_at = Some(now);
        }
    }

    fn note_workload(
        &mut self,
        workload: &KueueWorkload,
        directory: QueueDirectory<'_>,
        mapping: &QuantityMapping,
        now: Timestamp,
    ) {
        let uid = workload.metadata.uid.as_deref().unwrap_or_default();
        if workload.is_variant_parent() {
            // The variant that was admitted has the run.
            self.close(uid, now, now);
            return;
        }
        let start = shown_start(workload);
        let runs = self.runs.get(uid).map(Vec::as_slice).unwrap_or_default();
        if let Some(last) = runs.last().filter(|last| last.run.ended_at.is_none() && start > Some(last.run.started_at))
        {
            // The end of the earlier run was not seen. Kueue has counted its seconds.
            let seconds = past_seconds(workload).saturating_sub(last.past_seconds);
            let counted = last.run.started_at.plus_micros(seconds.max(0).saturating_mul(MICROS_PER_SECOND));
            let end = if seconds > 0 { counted } else { self.read_at.unwrap_or(now) };
            self.close(uid, end.min(start.unwrap_or(now)), now);
        }
        let is_known =
            |start: &Timestamp| self.runs.get(uid).into_iter().flatten().any(|noted| noted.run.started_at == *start);
        if let Some(started_at) = start.filter(|start| !is_known(start)) {
            let reported_from = first_reading(self.first_read_at.unwrap_or(now));
            if shown_end(workload).is_some_and(|end| end < reported_from) {
                return;
            }
            let run = SchedulerRun {
                job: uid.to_owned(),
                owner: directory.owner_of(workload),
                started_at,
                ended_at: None,
                slots: mapping.held(workload),
                machine: None,
                priority: workload.base_priority(),
            };
            // A run that had ended before it was first seen counts as known since its end, so that one that the server has is not reported
            // with each start of the connector. The clock of the cluster may be behind.
            let noted_at = shown_end(workload).map_or(now, |end| end.plus_micros(OVERLAP_MICROS).min(now));
            let noted = NotedRun { run, noted_at, past_seconds: past_seconds(workload) };
            self.runs.entry(uid.to_owned()).or_default().push(noted);
            if let Some(end) = shown_end(workload) {
                self.close(uid, end, noted_at);
            }
        } else if let Some(end) = shown_end(workload) {
            self.close(uid, end, now);
        }
    }

    /// Ends the run of a Workload that is under way.
    fn close(&mut self, uid: &str, end: Timestamp, noted_at: Timestamp) {
        let open = self.runs.get_mut(uid).into_iter().flatten().filter(|noted| noted.run.ended_at.is_none());
        for noted in open {
            noted.run.ended_at = Some(end.max(noted.run.started_at));
            noted.noted_at = noted_at;
        }
    }

    /// Ends the runs of Workloads that are not there any more. It is not known when they ended, so that they count until they were last
    /// seen.
    fn close_missing(&mut self, workloads: &BTreeMap<String, KueueWorkload>, now: Timestamp) {
        let present: BTreeSet<&str> =
            workloads.values().filter_map(|workload| workload.metadata.uid.as_deref()).collect();
        let missing: Vec<String> = self.runs.keys().filter(|uid| !present.contains(uid.as_str())).cloned().collect();
        let last_seen = self.read_at.unwrap_or(now);
        for uid in missing {
            self.close(&uid, last_seen, now);
        }
    }

    /// The end of the last complete reading.
    pub fn read_at(&self) -> Option<Timestamp> {
        self.read_at
    }

    /// The runs under way, and those whose ends a reading that reached until `since` did not have; all runs if the server has none yet.
    /// Runs that ended long before are forgotten.
    pub fn take_since(&mut self, since: Option<Timestamp>) -> Vec<&SchedulerRun> {
        let Some(since) = since else { return self.runs.values().flatten().map(|noted| &noted.run).collect() };
        let is_open = |noted: &NotedRun| noted.run.ended_at.is_none();
        for runs in self.runs.values_mut() {
            runs.retain(|noted| is_open(noted) || noted.noted_at > since.plus_micros(-OVERLAP_MICROS));
        }
        self.runs.retain(|_, runs| !runs.is_empty());
        let noted = self.runs.values().flatten().filter(|noted| is_open(noted) || noted.noted_at > since);
        noted.map(|noted| &noted.run).collect()
    }
}
