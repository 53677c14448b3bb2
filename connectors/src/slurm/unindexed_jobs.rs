//! Jobs that slurmctld does not change because slurmdbd has not given them an index.
//!
//! Slurm before 24.11 refuses each change of such a job, after it has waited for five seconds. Mostly the index is there sooner. But while
//! slurmdbd hangs, all new jobs are refused; and if slurmctld is killed meanwhile, it finds in its state that it waits for an index that
//! will never come, so that a job is refused until it starts. Writes to some of these in each round would take longer than all others.
//! They are therefore left out for some time, and the other jobs are ordered without them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The time for which a job that was refused is left out.
const RETRY_AFTER: Duration = Duration::from_mins(10);

/// The jobs that were refused, each with the time at which it is tried again.
#[derive(Debug, Default)]
pub struct UnindexedJobs(BTreeMap<String, Duration>);

impl UnindexedJobs {
    /// Notes jobs that were refused now, and forgets those that may be tried again.
    pub fn note(&mut self, jobs: &BTreeSet<String>, now: Duration) {
        self.0.retain(|_, until| *until > now);
        self.0.extend(jobs.iter().map(|job| (job.clone(), now + RETRY_AFTER)));
    }

    /// True if no write to the job is tried now.
    pub fn is_left_out(&self, job: &str, now: Duration) -> bool {
        self.0.get(job).is_some_and(|until| *until > now)
    }
}
