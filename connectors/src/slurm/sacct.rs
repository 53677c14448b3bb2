//! The accounting: the runs of `sacct`, and whether slurmdbd knows everything that slurmctld knows.

use std::collections::{BTreeMap, BTreeSet};

use domain::time::{MICROS_PER_SECOND, Timestamp};

use super::account_tree::AccountTree;
use crate::accounting_window::OVERLAP_MICROS;
use crate::fault::RoundFault;

pub const PROGRAM: &str = "sacct";
pub const QUEUE_PROGRAM: &str = "sdiag";
/// The fields that the importer of `sacct` reads. Names of jobs are not among them.
const FIELDS: &str = "JobIDRaw,JobID,Cluster,User,Account,State,Partition,QOS,Submit,Start,End,ElapsedRaw,Suspended,\
                      AllocTRES,AllocCPUS,NodeList,Priority,Timelimit";

/// The places of the job and of the start of a run among the fields.
const JOB_FIELD: usize = 0;
const START_FIELD: usize = 9;
/// The arguments of all readings. Without `--duplicates` a job would have its last run alone.
const COMMON_ARGS: [&str; 5] = ["--allusers", "--allocations", "--duplicates", "--parsable2", "--noconvert"];
/// The number of jobs that one call looks up.
pub const MAX_LOOKED_UP: usize = 500;

/// The beginning of the time that a reading covers, if the server has everything until `since`.
pub fn window_start(since: Timestamp) -> Timestamp {
    Timestamp::from_seconds((since.micros() - OVERLAP_MICROS).max(0) / MICROS_PER_SECOND)
}

/// The arguments that list the runs which ran at some time since `start`. Without `--state`, jobs that wait would be listed as well;
/// with it, the end of the time must be given.
pub fn run_args(cluster: &str, start: Timestamp) -> Vec<String> {
    let seconds = start.micros() / MICROS_PER_SECOND;
    let own = ["--state=RUNNING,SUSPENDED".to_owned(), "--endtime=now".to_owned(), format!("--starttime=uts{seconds}")];
    reading_args(cluster, own)
}

/// The arguments that list all runs of some jobs, whenever they ran. Tasks of arrays and components of heterogeneous jobs have the ids of
/// their own records (`JobIDRaw`).
pub fn job_args(cluster: &str, jobs: &[String]) -> Vec<String> {
    reading_args(cluster, [format!("--jobs={}", jobs.join(","))])
}

fn reading_args<const N: usize>(cluster: &str, own: [String; N]) -> Vec<String> {
    let common = COMMON_ARGS.into_iter().map(str::to_owned);
    common.chain([format!("--clusters={cluster}"), format!("--format={FIELDS}")]).chain(own).collect()
}

/// The number of messages that slurmctld has not yet sent to slurmdbd.
pub fn read_backlog(text: &str) -> Result<u64, RoundFault> {
    let value = text.lines().find_map(|line| line.trim().strip_prefix("DBD Agent queue size:"));
    let number = value.and_then(|value| value.trim().parse().ok());
    number.ok_or_else(|| RoundFault::new("unknown_format", "sdiag shows no size of the DBD agent's queue"))
}

/// Refuses an answer without one of the columns that were asked for. Without its resources, for one, a run would count as less than it
/// has used.
pub fn check_columns(text: &str) -> Result<(), RoundFault> {
    let head = text.lines().next().unwrap_or_default();
    let columns: BTreeSet<&str> = head.split('|').collect();
    match FIELDS.split(',').find(|field| !columns.contains(field)) {
        None => Ok(()),
        Some(missing) => Err(RoundFault::unknown_format(
            PROGRAM,
            head,
            &format!("the column {missing} that was asked for is missing"),
        )),
    }
}

/// The choices of a conversion.
pub struct ConversionChoices<'a> {
    pub resource_group: &'a str,
    pub slots: &'a BTreeMap<String, String>,
    pub tree: &'a AccountTree,
}

/// A run of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountedRun {
    /// The id of the job's record.
    pub job: String,
    pub started_at: Timestamp,
    /// `None` while it runs.
    pub ended_at: Option<Timestamp>,
    /// The kernel as a line of a report, without the end of the line.
    pub line: String,
}

/// The runs of a reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConvertedRuns {
    pub runs: Vec<AccountedRun>,
    /// Rows that could not be read as runs, and the first reasons.
    pub unreadable_rows: u64,
    pub reasons: Vec<String>,
}

/// The conversion of the text of `sacct`, which the importer does, so that the ids and the amounts of kernels are those of an
/// import.
pub type RunConversion = fn(&str, &ConversionChoices) -> Result<ConvertedRuns, String>;

/// The rows of one job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobRecords {
    pub runs: Vec<AccountedRun>,
    /// The starts of all rows, also of those that are no runs: for some seconds a job that starts is shown as one that waits.
    pub starts: BTreeSet<Timestamp>,
    /// Rows that could not be read as runs.
    pub unreadable_rows: u64,
}

/// Reads the rows of jobs that were looked up, each job for itself, so that a row that cannot be read concerns its job alone.
pub fn read_records(
    text: &str,
    choices: &ConversionChoices,
    convert: RunConversion,
) -> Result<BTreeMap<String, JobRecords>, String> {
    let Some((head, rows)) = text.split_once('\n') else { return Err("sacct printed no header line".to_owned()) };
    let mut texts: BTreeMap<&str, (String, BTreeSet<Timestamp>)> = BTreeMap::new();
    for row in rows.lines() {
        let fields: Vec<&str> = row.split('|').collect();
        let job = fields[JOB_FIELD];
        let (text, starts) = texts.entry(job).or_insert_with(|| (format!("{head}\n"), BTreeSet::new()));
        *text += row;
        text.push('\n');
        starts.extend(fields.get(START_FIELD).and_then(|start| start.parse().ok()).map(Timestamp::from_seconds));
    }
    let read = |(job, (text, starts)): (&str, (String, BTreeSet<Timestamp>))| {
        let ConvertedRuns { runs, unreadable_rows, .. } = convert(&text, choices)?;
        Ok((job.to_owned(), JobRecords { runs, starts, unreadable_rows }))
    };
    texts.into_iter().map(read).collect()
}
