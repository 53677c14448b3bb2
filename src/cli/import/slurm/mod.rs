//! `sacct`: Slurm's accounting of jobs, as text ([`text`]) or as JSON ([`json`]).
//!
//! - The project is the account; the resource group is the cluster, or without one the partition. Slurm has no domains.
//! - A requeued job has several rows with one job id. Each start is a kernel of its own with the key
//!   `<job id>@<start in Unix seconds>`, and all of them are one session. The same holds for the tasks of an array
//!   (`12_3`) and the parts of a heterogeneous job (`12+1`). The job id is Slurm's raw one if it is known, so that text
//!   and JSON give the same kernels.
//! - A row contains how long its job ran or was suspended, but not when it was suspended: the job ends once it has run
//!   for that long.
//! - Without a cluster, a list of partitions is not used as a resource group, because a job runs in one of them.
//! - A job that was cancelled before it started is taken and has no usage. A pending job is dropped, because its key is
//!   not known yet.

mod count;
mod gres;
mod json;
mod record;
pub mod slot_choices;
mod text;
mod tres;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::StrDeserializer;

use self::tres::HeldSlots;
use super::charge_class::ChargeClassField;
use super::format::ImportFormat;
use super::job::{ImportedJob, key_of_run, start_of_run};
use super::job_state::implies_start;
use super::missing_amounts::MissingAmounts;
use super::node_range;
use super::reason::DropReason;
use super::skipped::SkippedFields;
use super::zone::TimesRead;
use crate::domain::kernel::KernelPhase;
use crate::domain::kernel_agents::{KernelAgents, MAX_AGENTS_OF_KERNEL};
use crate::domain::reported_status::ReportedStatus;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "sacct",
    about: "Slurm: sacct --parsable2 with its header line, sacct --json, or the job list of slurmrestd",
    zoned: true,
    table: true,
    names_resources: true,
    missing_amounts: MissingAmounts::Dropped,
    charge_classes: &[ChargeClassField::Qos, ChargeClassField::Partition],
    parser: |options| Box::new(text::SacctParser::new(options)),
    json: Some(json::rows),
};

/// The meaning of a state of Slurm for accounting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StateStage {
    Waits,
    Runs,
    Ended,
}

/// The states of a job that waits although it may have nodes already, or that has run and is to run again. The end of the row says
/// whether its run has ended.
const STATES_OF_EITHER: [&str; 6] = ["CONFIGURING", "CF", "POWER_UP_NODE", "EXPEDITING", "REQUEUED", "RQ"];

impl StateStage {
    /// The stage of a state, which is read as in reports of kernels. A job with a state that is not known has ended if the row has an
    /// end, and otherwise it runs, because an end that the row does not have would be made up.
    fn of(state: &str, has_end: bool) -> Self {
        let is_of_either = |word: &str| STATES_OF_EITHER.iter().any(|known| known.eq_ignore_ascii_case(word.trim()));
        match phase_of(state) {
            KernelPhase::Terminated => Self::Ended,
            KernelPhase::Pending if !state.split(',').all(is_of_either) => Self::Waits,
            KernelPhase::Pending | KernelPhase::Unknown if has_end => Self::Ended,
            KernelPhase::Pending | KernelPhase::Running | KernelPhase::Suspended | KernelPhase::Unknown => Self::Runs,
        }
    }

    /// Notes a state that is not known, where the row has no end that would say what it means.
    fn note_unknown(state: &str, has_end: bool, skipped: &mut SkippedFields) {
        if !has_end && !state.is_empty() && phase_of(state) == KernelPhase::Unknown {
            skipped.add("State", state);
        }
    }
}

fn phase_of(state: &str) -> KernelPhase {
    let text: StrDeserializer<'_, serde::de::value::Error> = state.into_deserializer();
    ReportedStatus::deserialize(text).map_or(KernelPhase::Unknown, |status| status.phase)
}

/// The properties of a job that every form of the accounting contains.
struct AccountedJob<'a> {
    job_id: &'a str,
    session: &'a str,
    user: &'a str,
    account: &'a str,
    cluster: &'a str,
    partition: &'a str,
    qos: &'a str,
    stage: StateStage,
    times: JobTimes,
    held: HeldSlots,
    nodes: &'a str,
    priority: i32,
    limit_seconds: Option<u32>,
    times_read: TimesRead,
    skipped: SkippedFields,
}

/// The times of a job. Durations are in seconds.
struct JobTimes {
    submitted_at: Option<Timestamp>,
    started_at: Option<Timestamp>,
    /// The end. A running job has one if the dump was made with `--truncate`; it is the end of the time that the dump
    /// covers.
    ended_at: Option<Timestamp>,
    /// The runtime without `suspended`, in seconds.
    elapsed: Option<u64>,
    /// The reason why the field with the runtime cannot be read.
    elapsed_fault: Option<DropReason>,
    suspended: u64,
}

impl JobTimes {
    /// The times of a job with its start. A row without one has it from the end and the run time; an error if the job ran,
    /// or has a state that only a job has that ran, and nothing gives its start.
    fn with_start(mut self, stage: StateStage, state: &str) -> Result<Self, DropReason> {
        let has_run_time = self.elapsed.map_or(self.elapsed_fault.is_some(), |seconds| seconds > 0);
        if self.started_at.is_some() || stage != StateStage::Ended || !(has_run_time || implies_start(state)) {
            return Ok(self);
        }
        let run = self.elapsed.map(|seconds| to_micros(seconds.saturating_add(self.suspended)));
        let start = self.ended_at.zip(run).and_then(|(end, run)| start_of_run(end, run));
        self.started_at = Some(start.ok_or(self.elapsed_fault.unwrap_or(DropReason::StartMissing))?);
        Ok(self)
    }
}

impl AccountedJob<'_> {
    fn job(mut self) -> Result<ImportedJob, DropReason> {
        let terminated_at = self.end()?;
        let run_micros = self.run_micros(terminated_at);
        let is_list = self.partition.contains(',');
        let mut resource_group = self.cluster;
        if resource_group.is_empty() && !is_list {
            resource_group = self.partition;
        } else if resource_group.is_empty() {
            let never_ran = self.times.started_at == terminated_at && names_no_node(self.nodes);
            self.times.started_at = self.times.started_at.filter(|_| !never_ran);
            if self.times.started_at.is_some() {
                self.skipped.add("Partition", self.partition);
            }
        }
        let agents = agents_of(self.nodes, &mut self.skipped);
        let (job_key, run_of) = match self.times.started_at {
            Some(start) if !self.job_id.is_empty() => (key_of_run(self.job_id, start), self.job_id),
            _ => (self.job_id.to_owned(), ""),
        };
        Ok(ImportedJob {
            job_key,
            run_of: run_of.to_owned(),
            session_key: self.session.to_owned(),
            user: self.user.to_owned(),
            project: self.account.to_owned(),
            domain: String::new(),
            given_group: String::new(),
            resource_group: resource_group.to_owned(),
            submitted_at: self.times.submitted_at,
            started_at: self.times.started_at,
            terminated_at,
            slots: self.held.slots,
            device_slices: self.held.device_slices,
            chosen_resources: self.held.chosen_resources,
            agents,
            queue: Some(self.partition.to_owned()).filter(|_| !is_list),
            qos: self.qos.to_owned(),
            priority: self.priority,
            limit_seconds: self.limit_seconds,
            run_micros,
            times: self.times_read,
            skipped: self.skipped,
            ..ImportedJob::default()
        })
    }

    /// The end of the job. An end before the start is ignored if the row has the runtime.
    fn end(&mut self) -> Result<Option<Timestamp>, DropReason> {
        if self.times.elapsed.is_some()
            && let Some((_, end)) = self.times.started_at.zip(self.times.ended_at).filter(|(start, end)| end < start)
        {
            self.skipped.add_end_before_start("End", &end.to_string());
            self.times.ended_at = None;
        }
        let ran = || {
            let seconds = self.times.elapsed?.saturating_add(self.times.suspended);
            Some(self.times.started_at?.plus_micros(to_micros(seconds)))
        };
        match self.stage {
            StateStage::Waits => Err(DropReason::NotStarted),
            StateStage::Runs if self.times.started_at.is_none() => Err(DropReason::StartMissing),
            StateStage::Runs => Ok(self.times.ended_at),
            StateStage::Ended => {
                let missing = self.times.elapsed_fault.unwrap_or(DropReason::EndMissing);
                self.times.ended_at.or_else(ran).map(Some).ok_or(missing)
            }
        }
    }

    /// The runtime: the shorter of the one in the row and the time from start to end without suspensions.
    fn run_micros(&self, end: Option<Timestamp>) -> Option<i64> {
        let elapsed = self.times.elapsed.map(to_micros);
        let active = self.times.started_at.zip(end).filter(|_| self.times.suspended > 0).map(|(start, end)| {
            let between = end.micros() - start.micros();
            between.saturating_sub(to_micros(self.times.suspended))
        });
        elapsed.into_iter().chain(active).min()
    }
}

fn to_micros(seconds: u64) -> i64 {
    i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(MICROS_PER_SECOND)
}

/// True if the job had no node.
fn names_no_node(list: &str) -> bool {
    ["", "None assigned", "(null)"].contains(&list)
}

/// The nodes of a list such as `n1,n[3-5]`. A list that cannot be read, or that has more nodes than a kernel may have, is noted.
fn agents_of(list: &str, skipped: &mut SkippedFields) -> KernelAgents {
    if names_no_node(list) {
        return KernelAgents::Unknown;
    }
    node_range::expand(list, MAX_AGENTS_OF_KERNEL).map_or_else(
        |_| {
            skipped.add("NodeList", list);
            KernelAgents::Unknown
        },
        KernelAgents::from,
    )
}

/// Converts a priority. Slurm's are unsigned 32-bit numbers; ours end at the largest `i32`.
fn priority(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}
