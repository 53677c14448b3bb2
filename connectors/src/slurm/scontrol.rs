//! The texts of `scontrol`: the configuration, partitions and nodes; and the lines that it reads.

use std::collections::{BTreeMap, BTreeSet};

use api::agents::AgentReport;

use super::tres::{SlotMapping, read_amounts};
use crate::fault::RoundFault;
use crate::scheduler::ValueWrite;

pub const PROGRAM: &str = "scontrol";
pub const CONFIG_ARGS: [&str; 2] = ["show", "config"];
pub const PARTITION_ARGS: [&str; 4] = ["--all", "--oneliner", "show", "partition"];
pub const NODE_ARGS: [&str; 4] = ["--all", "--oneliner", "show", "node"];

/// The priority plugin that adds `SITE` to the priority.
pub const MULTIFACTOR: &str = "priority/multifactor";

/// The settings of Slurm that matter to a connector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmConfig {
    pub cluster: String,
    pub version: String,
    pub priority_type: String,
    pub fairshare_weight: u64,
    pub accounting_type: String,
}

/// Reads `scontrol show config`.
pub fn read_config(text: &str) -> Result<SlurmConfig, RoundFault> {
    let values: BTreeMap<&str, &str> =
        text.lines().filter_map(|line| line.split_once('=')).map(|(key, value)| (key.trim(), value.trim())).collect();
    let find = |key: &str| {
        let missing = || RoundFault::new("unknown_format", format!("scontrol show config has no {key}"));
        values.get(key).map(|value| (*value).to_owned()).ok_or_else(missing)
    };
    let priority_type = find("PriorityType")?;
    // Other priority plugins have no weights.
    let fairshare_weight = match find("PriorityWeightFairShare") {
        Err(_) if priority_type != MULTIFACTOR => 0,
        weight => {
            let weight = weight?;
            let wrong = |_| RoundFault::new("unknown_format", format!("PriorityWeightFairShare is {weight:?}"));
            weight.parse().map_err(wrong)?
        }
    };
    Ok(SlurmConfig {
        cluster: find("ClusterName")?,
        version: find("SLURM_VERSION")?,
        accounting_type: find("AccountingStorageType")?,
        priority_type,
        fairshare_weight,
    })
}

/// The value of the first `key=` in a line of `--oneliner`.
fn line_value<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    line.split_ascii_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

fn needed_value<'l>(line: &'l str, key: &str) -> Result<&'l str, RoundFault> {
    line_value(line, key).ok_or_else(|| RoundFault::unknown_format(PROGRAM, line, &format!("it has no {key}")))
}

/// Reads the tier of each partition. Slurm looks at the jobs of a higher tier first, whatever their priority.
pub fn read_partitions(text: &str) -> Result<BTreeMap<String, u32>, RoundFault> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let partition = |line| {
        let tier = needed_value(line, "PriorityTier")?;
        let tier = tier.parse().map_err(|_| RoundFault::unknown_format(PROGRAM, line, "PriorityTier is no number"))?;
        Ok((needed_value(line, "PartitionName")?.to_owned(), tier))
    };
    lines.map(partition).collect()
}

/// States of nodes that do not answer, and those whose jobs go on while no new one may start.
const DOWN_STATES: [&str; 8] =
    ["DOWN", "UNKNOWN", "NOT_RESPONDING", "FAIL", "POWERED_DOWN", "POWERING_DOWN", "FUTURE", "INVAL"];
const CLOSED_STATES: [&str; 5] = ["DRAIN", "MAINT", "RESERVED", "REBOOT", "BLOCKED"];

/// Reads the nodes as agents.
pub fn read_nodes(text: &str, mapping: &SlotMapping) -> Result<Vec<AgentReport>, RoundFault> {
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("No nodes"));
    lines.map(|line| read_node(line, mapping)).collect()
}

fn read_node(line: &str, mapping: &SlotMapping) -> Result<AgentReport, RoundFault> {
    let states = needed_value(line, "State")?;
    let has =
        |known: &[&str]| states.split(['+', '*', '~', '#', '$', '%', '@', '^']).any(|state| known.contains(&state));
    let amounts = needed_value(line, "CfgTRES")?;
    let amounts = if amounts == "(null)" { "" } else { amounts };
    Ok(AgentReport {
        agent_id: needed_value(line, "NodeName")?.to_owned(),
        available_slots: read_amounts(amounts, mapping)
            .map_err(|reason| RoundFault::unknown_format(PROGRAM, amounts, &reason))?,
        alive: !has(&DOWN_STATES),
        schedulable: !has(&CLOSED_STATES),
    })
}

/// The line that writes a value.
pub fn write_line(write: &ValueWrite) -> String {
    format!("update job={} sitefactor={}\n", write.job, write.value)
}

/// True if the messages say that the user may not change the job.
pub fn is_denied(messages: &str) -> bool {
    messages.contains("Access/permission denied") || messages.contains("Invalid user id")
}

/// The messages about a write to a job that has started or ended since it was listed; and the one about a task that was written while
/// others of its array were not.
const GONE_MESSAGES: [&str; 5] = [
    "Invalid job id specified",
    "Job/step already completing or completed",
    "Job has already finished",
    "Job is no longer pending execution",
    "No error",
];

/// True if there are messages, and all of them are about jobs that are gone.
pub fn is_only_gone(messages: &str) -> bool {
    let mut lines = messages.lines().filter(|line| !line.trim().is_empty()).peekable();
    lines.peek().is_some() && lines.all(|line| GONE_MESSAGES.iter().any(|gone| line.contains(gone)))
}

/// A part of the message about a job that has no index in the accounting yet, and what comes before the job in it.
const UNINDEXED_MESSAGE: (&str, &str) = ("the DB index is being set", "for job ");

/// The jobs that slurmctld does not change because it waits for slurmdbd to give them an index.
pub fn unindexed_jobs(messages: &str) -> BTreeSet<String> {
    let (message, before_job) = UNINDEXED_MESSAGE;
    let lines = messages.lines().filter(|line| line.contains(message));
    lines.filter_map(|line| Some(line.rsplit_once(before_job)?.1.trim().to_owned())).collect()
}

/// True if the messages say that slurmctld does not answer.
pub fn is_away(messages: &str) -> bool {
    ["Unable to contact", "Connection refused", "timed out", "authentication error"]
        .iter()
        .any(|part| messages.contains(part))
}
