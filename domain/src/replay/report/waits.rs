//! The waits of jobs.

use serde::Serialize;

use crate::forecast::nearest_rank;
use crate::replay::history::ReplayHistory;
use crate::time::{MICROS_PER_SECOND, Timestamp};

/// The shortest runtime in a slowdown, in seconds. Without it the slowdown of jobs that failed at once would hide all
/// others.
const SLOWDOWN_MIN_SECONDS: f64 = 10.0;

/// The wait and the runtime of one started job, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct JobWait {
    wait: f64,
    ran: f64,
}

impl JobWait {
    /// The bounded slowdown: the time from submission to end, divided by the runtime; at least 1.
    fn slowdown(self) -> f64 {
        ((self.wait + self.ran) / self.ran.max(SLOWDOWN_MIN_SECONDS)).max(1.0)
    }
}

/// The distribution of waits, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WaitDistribution {
    pub mean: f64,
    pub median: f64,
    pub p95: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WaitFigures {
    /// The number of jobs that have started.
    pub jobs: u64,
    pub wait: WaitDistribution,
    /// The mean bounded slowdown.
    pub bounded_slowdown: f64,
}

impl WaitFigures {
    pub fn of(mut waits: Vec<JobWait>) -> Self {
        if waits.is_empty() {
            return Self::default();
        }
        let count = waits.len() as f64;
        waits.sort_unstable_by(|a, b| a.wait.total_cmp(&b.wait));
        let at = |percent: usize| waits[nearest_rank(waits.len(), percent)].wait;
        let wait = WaitDistribution {
            mean: waits.iter().map(|wait| wait.wait).sum::<f64>() / count,
            median: at(50),
            p95: at(95),
        };
        // Summed in the order of waits, so that the result does not depend on the order of the jobs.
        let bounded_slowdown = waits.iter().map(|wait| wait.slowdown()).sum::<f64>() / count;
        Self { jobs: waits.len() as u64, wait, bounded_slowdown }
    }
}

/// The waits of each owner's jobs.
pub fn by_owner(history: &ReplayHistory, starts: &[Option<Timestamp>]) -> Vec<Vec<JobWait>> {
    let mut waits = vec![Vec::new(); history.owners.len()];
    for (job, start) in history.jobs.iter().zip(starts) {
        if let Some(start) = start {
            waits[job.owner as usize].push(JobWait { wait: seconds(job.wait(*start)), ran: seconds(job.ran) });
        }
    }
    waits
}

fn seconds(micros: u64) -> f64 {
    micros as f64 / MICROS_PER_SECOND as f64
}
