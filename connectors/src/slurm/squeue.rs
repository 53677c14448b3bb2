//! The text of `squeue`: all jobs, one on each line.

use std::collections::BTreeSet;

use domain::time::Timestamp;

use super::table_text::{TextRow, read_rows};
use crate::fault::RoundFault;

pub const PROGRAM: &str = "squeue";
/// A variable that makes `squeue` list tasks of arrays that have records of their own. The option for it is an error since Slurm 23.11,
/// which does not know the variable either.
pub const UNIQUE_TASKS: (&str, &str) = ("SQUEUE_ARRAY_UNIQUE", "1");
/// The fields. Names of jobs are not read: users choose them, and they may contain the separator.
pub const ARGS: [&str; 4] = [
    "--all",
    "--noheader",
    "-O",
    "JobID:|,HetJobID:|,ArrayJobID:|,State:|,Reason:|,UserName:|,Account:|,Partition:|,SubmitTime:|,PriorityLong:|,tres:|",
];
const FIELDS: usize = 11;
/// The arguments that list the jobs that wait, with their tasks and components.
pub const SINGLE_ARGS: [&str; 5] =
    ["--all", "--noheader", "--states=PENDING", "-O", "JobID:|,ArrayTaskID:|,HetJobID:|"];
const SINGLE_FIELDS: usize = 3;

/// The part of its life that a job is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStage {
    Pending,
    /// It has nodes.
    Active,
    /// It ends, or has ended.
    Ending,
}

/// A job of the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedJob {
    /// The id of the record. That of an array stands for all tasks that have none of their own.
    pub id: u64,
    /// The id of the first component of a heterogeneous job.
    pub het_leader: Option<u64>,
    /// The id of the array that it is a task of; its own id for any other job.
    pub array: u64,
    pub stage: JobStage,
    pub reason: String,
    pub user: String,
    pub account: String,
    /// Several while it waits in several.
    pub partitions: Vec<String>,
    pub submitted_at: Timestamp,
    pub priority: u64,
    pub tres: String,
}

/// Reads the jobs.
pub fn read_jobs(text: &str) -> Result<Vec<QueuedJob>, RoundFault> {
    read_rows(PROGRAM, text, FIELDS, read_job)
}

/// Reads which of the jobs that wait are neither of an array nor of a heterogeneous job, so that a write to one of them changes no
/// other.
pub fn read_single_jobs(text: &str) -> Result<BTreeSet<u64>, RoundFault> {
    let rows = read_rows(PROGRAM, text, SINGLE_FIELDS, |row| {
        let is_single = row.is_absent(1) && (row.is_absent(2) || row.text(2) == "0");
        let id = row.number(0)?;
        Ok(is_single.then_some(id))
    })?;
    Ok(rows.into_iter().flatten().collect())
}

fn read_job(row: &TextRow) -> Result<QueuedJob, RoundFault> {
    let het_leader = if row.is_absent(1) { None } else { Some(row.number(1)?) };
    Ok(QueuedJob {
        id: row.number(0)?,
        het_leader: het_leader.filter(|leader| *leader != 0),
        array: row.number(2)?,
        stage: read_stage(row.filled(3)?),
        reason: row.text(4).to_owned(),
        user: row.filled(5)?.to_owned(),
        account: if row.is_absent(6) { String::new() } else { row.text(6).to_owned() },
        partitions: row.filled(7)?.split(',').map(str::to_owned).collect(),
        submitted_at: Timestamp::from_seconds(row.number(8)?),
        priority: row.number(9)?,
        tres: row.text(10).to_owned(),
    })
}

/// The stage of a state. A state that is not known is that of a job that is not touched.
fn read_stage(state: &str) -> JobStage {
    match state {
        "PENDING" => JobStage::Pending,
        "RUNNING" | "SUSPENDED" | "CONFIGURING" | "STOPPED" | "SIGNALING" | "RESIZING" => JobStage::Active,
        _ => JobStage::Ending,
    }
}
