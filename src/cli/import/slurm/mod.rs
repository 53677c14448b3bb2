//! `sacct`: what Slurm's accounting tells of jobs, as text ([`text`]) or as JSON ([`json`]).
//!
//! - Project is the account; resource group the cluster, or the partition where no cluster is named. Slurm knows no
//!   domains.
//! - A requeued job has several rows with one job id; each start is a kernel of its own, keyed `<job id>@<start in Unix
//!   seconds>`, all of one session. So are the tasks of an array (`12_3`) and the parts of a heterogeneous job (`12+1`).
//!   The job id is Slurm's raw one where it is known, so that text and JSON mean the same kernels.
//! - For how long a job was suspended is known, but not when: the time comes off its end.
//! - A job that was cancelled before it started is taken and has no usage. A pending one is dropped: what it will be
//!   keyed by is not known yet.

mod json;
mod text;
mod tres;

use super::format::Format;
use super::job::{ImportedJob, key_of_run};
use super::reason::Reason;
use super::zone::TimesRead;
use crate::domain::slots::Amounts;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};

pub(super) const FORMAT: Format = Format {
    name: "sacct",
    about: "Slurm: sacct --parsable2 with its header line, sacct --json, or the job list of slurmrestd",
    zoned: true,
    table: true,
    parser: |options| Box::new(text::Sacct::new(options)),
    json: Some(json::rows),
};

/// What a state of Slurm means for accounting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waits,
    Runs,
    Ended,
}

impl Stage {
    /// `CANCELLED by 1234` is cancelled.
    fn of(state: &str) -> Self {
        let word = state.split_ascii_whitespace().next().unwrap_or_default().to_ascii_uppercase();
        match word.as_str() {
            "PENDING" | "REQUEUE_HOLD" | "REQUEUE_FED" | "SPECIAL_EXIT" | "RESV_DEL_HOLD" => Self::Waits,
            "RUNNING" | "SUSPENDED" | "COMPLETING" | "CONFIGURING" | "RESIZING" | "SIGNALING" | "STAGE_OUT"
            | "STOPPED" => Self::Runs,
            _ => Self::Ended,
        }
    }
}

/// A job as every form of the accounting tells it.
struct Facts<'a> {
    job_id: &'a str,
    session: &'a str,
    user: &'a str,
    account: &'a str,
    cluster: &'a str,
    partition: &'a str,
    state: &'a str,
    submitted_at: Option<Timestamp>,
    started_at: Option<Timestamp>,
    /// A running job has an end when the dump was cut with `--truncate`; then that is the end of what the dump accounts
    /// for.
    ended_at: Option<Timestamp>,
    /// How long it ran, in seconds, without `suspended`.
    elapsed: Option<u64>,
    suspended: u64,
    slots: Amounts,
    nodes: &'a str,
    priority: i32,
    limit_seconds: Option<u32>,
    times: TimesRead,
}

impl Facts<'_> {
    fn job(self) -> Result<ImportedJob, Reason> {
        let terminated_at = self.end()?;
        let (job_key, run_of) = match self.started_at {
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
            told_group: String::new(),
            resource_group: if self.cluster.is_empty() { self.partition } else { self.cluster }.to_owned(),
            submitted_at: self.submitted_at,
            started_at: self.started_at,
            terminated_at,
            slots: self.slots,
            agent: single_node(self.nodes),
            queue: Some(self.partition.to_owned()),
            priority: self.priority,
            limit_seconds: self.limit_seconds,
            times: self.times,
        })
    }

    fn end(&self) -> Result<Option<Timestamp>, Reason> {
        let after = |start: Timestamp, seconds: u64| start.plus_micros(micros(seconds));
        let end = match Stage::of(self.state) {
            Stage::Waits => return Err(Reason::NotStarted),
            Stage::Runs if self.started_at.is_none() => return Err(Reason::StartMissing),
            Stage::Runs => self.ended_at,
            Stage::Ended => {
                let ran = || Some(after(self.started_at?, self.elapsed?.saturating_add(self.suspended)));
                Some(self.ended_at.or_else(ran).ok_or(Reason::EndMissing)?)
            }
        };
        let (Some(start), Some(end)) = (self.started_at, end) else { return Ok(end) };
        Ok(Some(if end < start { end } else { start.max(end.plus_micros(-micros(self.suspended))) }))
    }
}

fn micros(seconds: u64) -> i64 {
    i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(MICROS_PER_SECOND)
}

/// A node by name: neither several, nor a bracket range, nor `None assigned`.
fn single_node(list: &str) -> Option<String> {
    let single = !list.is_empty() && !list.contains([',', '[', ' ']);
    single.then(|| list.to_owned())
}

/// Slurm's priorities are unsigned 32-bit; ours stop at the largest `i32`.
fn priority(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}
