//! Jobs whose writes have no effect, and that are therefore left out for some time.
//!
//! Slurm before 24.11 refuses each change of a job to which slurmdbd has not given an index, after it has waited for five seconds. Mostly
//! the index is there sooner. But while slurmdbd hangs, all new jobs are refused; and if slurmctld is killed meanwhile, it finds in its
//! state that it waits for an index that will never come, so that a job is refused until it starts. Writes to some of these in each round
//! would take longer than all others.
//!
//! A job whose priority an admin has set to 1 looks like one without any terms, until it was written to and still shows no `SITE`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The time for which a job is left out.
const RETRY_AFTER: Duration = Duration::from_mins(10);

/// The jobs that are left out, each with the time at which it is tried again.
#[derive(Debug, Default)]
pub struct LeftOutJobs(BTreeMap<String, Duration>);

impl LeftOutJobs {
    /// Notes jobs whose writes had no effect now, and forgets those that may be tried again.
    pub fn note(&mut self, jobs: &BTreeSet<String>, now: Duration) {
        self.0.retain(|_, until| *until > now);
        self.0.extend(jobs.iter().map(|job| (job.clone(), now + RETRY_AFTER)));
    }

    /// True if no write to the job is tried now.
    pub fn is_left_out(&self, job: &str, now: Duration) -> bool {
        self.0.get(job).is_some_and(|until| *until > now)
    }
}
