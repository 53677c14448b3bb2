//! A run of a job, for schedulers whose runs no importer reads.

use std::collections::BTreeMap;

use domain::decimal::Amount;
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::accounted_owner::AccountedOwner;

/// A run of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulerRun {
    /// The scheduler's id of the job, which no other job has.
    pub job: String,
    pub owner: AccountedOwner,
    pub started_at: Timestamp,
    /// `None` while it runs.
    pub ended_at: Option<Timestamp>,
    pub slots: BTreeMap<String, Amount>,
    /// The machine, if the job ran on exactly one.
    pub machine: Option<String>,
    pub priority: i32,
}

/// Adds a run to the lines of a report, as a kernel of the resource group. The importer does that, so that the ids of kernels are made
/// in one place.
pub type RunWriter = fn(&SchedulerRun, &str, &mut Vec<u8>) -> Result<(), String>;
