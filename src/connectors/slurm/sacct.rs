//! The accounting: the runs of `sacct`, and whether slurmdbd knows everything that slurmctld knows.

use std::collections::BTreeMap;

use super::account_tree::AccountTree;
use crate::connectors::accounting_window::OVERLAP_MICROS;
use crate::connectors::fault::RoundFault;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};

pub const PROGRAM: &str = "sacct";
pub const QUEUE_PROGRAM: &str = "sdiag";
/// The fields that the importer of `sacct` reads. Names of jobs are not among them.
const FIELDS: &str = "JobIDRaw,JobID,Cluster,User,Account,State,Partition,QOS,Submit,Start,End,ElapsedRaw,Suspended,\
                      AllocTRES,AllocCPUS,NodeList,Priority,Timelimit";

/// The arguments that list the runs which ran at some time since `since`. Without `--state`, jobs that wait would be listed as well;
/// with it, the end of the time must be given.
pub fn run_args(cluster: &str, since: Timestamp) -> Vec<String> {
    let seconds = (since.micros() - OVERLAP_MICROS).max(0) / MICROS_PER_SECOND;
    [
        "--allusers",
        "--allocations",
        "--duplicates",
        "--parsable2",
        "--noconvert",
        "--state=RUNNING,SUSPENDED",
        "--endtime=now",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain([format!("--clusters={cluster}"), format!("--starttime=uts{seconds}"), format!("--format={FIELDS}")])
    .collect()
}

/// The number of messages that slurmctld has not yet sent to slurmdbd.
pub fn read_backlog(text: &str) -> Result<u64, RoundFault> {
    let value = text.lines().find_map(|line| line.trim().strip_prefix("DBD Agent queue size:"));
    let number = value.and_then(|value| value.trim().parse().ok());
    number.ok_or_else(|| RoundFault::new("unknown_format", "sdiag shows no size of the DBD agent's queue"))
}

/// The choices of a conversion.
pub struct ConversionChoices<'a> {
    pub resource_group: &'a str,
    pub slots: &'a BTreeMap<String, String>,
    pub tree: &'a AccountTree,
}

/// Runs as lines of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConvertedRuns {
    /// One kernel in each line.
    pub lines: Vec<u8>,
    /// Rows that could not be read as runs, and the first reasons.
    pub unreadable_rows: u64,
    pub reasons: Vec<String>,
}

/// The conversion of the text of `sacct`, which the importer does, so that the ids and the amounts of kernels are those of an
/// import.
pub type RunConversion = fn(&str, &ConversionChoices) -> Result<ConvertedRuns, String>;
