//! The jobs that may start, in the form in which every scheduler's jobs are ordered.

use std::collections::BTreeMap;

use domain::time::Timestamp;

/// A pending job that may start, as the server orders it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EligibleWorkload {
    pub workload_id: String,
    pub user: String,
    pub project: String,
    pub submitted_at: Timestamp,
    /// The scheduler's own order among the jobs of one owner: the highest comes first.
    pub priority: i32,
    pub requested_slots: BTreeMap<String, String>,
}
