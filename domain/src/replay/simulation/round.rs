//! The view of a scheduler of the pending jobs at one instant.

use super::ReplaySimulation;
use crate::replay::cluster_capacity::ClusterCapacity;
use crate::time::Timestamp;

/// One round of the scheduler: it may look at pending jobs and start some of them.
pub struct SchedulerRound<'s, 'h>(&'s mut ReplaySimulation<'h>);

impl<'s, 'h> SchedulerRound<'s, 'h> {
    pub(super) fn new(simulation: &'s mut ReplaySimulation<'h>) -> Self {
        Self(simulation)
    }

    /// True if there is room for at least one pending job.
    pub fn any_fits(&self) -> bool {
        self.0.waiting.sizes().any(|size| self.0.room.fits(&self.0.history.sizes[size as usize]))
    }

    pub fn fits(&self, job: u32) -> bool {
        self.0.room.fits(self.0.size(job))
    }

    /// The pending job that comes first; `None` if there is none.
    pub fn first(&mut self) -> Option<u32> {
        let heads: Vec<u32> = self.0.waiting.heads().collect();
        self.0.ordered(&heads, 1).first().copied()
    }

    /// All pending jobs, in order.
    pub fn order(&mut self) -> Vec<u32> {
        let all: Vec<u32> = self.0.waiting.all().collect();
        self.0.ordered(&all, usize::MAX)
    }

    pub fn start(&mut self, job: u32) {
        self.0.start(job);
    }

    /// The reservation of a job: the time at which it can start if running jobs end as estimated.
    pub fn reservation(&mut self, job: u32) -> JobReservation {
        // The estimates come from what runs have recorded.
        self.0.run();
        let simulation = &*self.0;
        let mut ends: Vec<(Timestamp, u32)> = simulation
            .running
            .iter()
            .map(|(job, running)| {
                let estimate = i64::try_from(simulation.estimate(*job)).unwrap_or(i64::MAX);
                (running.started_at.plus_micros(estimate).max(simulation.now), *job)
            })
            .collect();
        ends.sort_unstable();
        let mut room = simulation.room.clone();
        let mut from = simulation.now;
        for (end, ended) in ends {
            if room.fits(simulation.size(job)) && end > from {
                break;
            }
            room.give_back(simulation.size(ended));
            from = end;
        }
        room.take(simulation.size(job));
        JobReservation { from, room }
    }
}

/// The reservation of a job that waits for others to end.
pub struct JobReservation {
    from: Timestamp,
    /// The room that is left at that time after the job has started.
    room: ClusterCapacity,
}

impl JobReservation {
    /// True if a job that starts now does not delay the job with the reservation.
    pub fn admits(&mut self, round: &SchedulerRound, job: u32) -> bool {
        let estimate = i64::try_from(round.0.estimate(job)).unwrap_or(i64::MAX);
        if round.0.now.plus_micros(estimate) <= self.from {
            return true;
        }
        let size = round.0.size(job);
        let fits = self.room.fits(size);
        if fits {
            self.room.take(size);
        }
        fits
    }
}
