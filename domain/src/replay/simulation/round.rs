//! The view of a scheduler of the pending jobs at one instant.

use super::ReplaySimulation;
use crate::expected_end::{end_after, end_of_running};
use crate::replay::cluster_capacity::ClusterCapacity;
use crate::slots::SlotAmounts;
use crate::time::Timestamp;

/// One round of the scheduler: it may look at pending jobs and start some of them.
pub struct SchedulerRound<'s, 'h> {
    simulation: &'s mut ReplaySimulation<'h>,
    /// The jobs that have started, in order.
    started: Vec<u32>,
    /// How many of them the group knows of.
    reported: usize,
}

impl<'s, 'h> SchedulerRound<'s, 'h> {
    pub(super) fn new(simulation: &'s mut ReplaySimulation<'h>) -> Self {
        Self { simulation, started: Vec::new(), reported: 0 }
    }

    /// Ends the round. Returns the jobs that have started, in the order of their starts.
    pub fn finish(mut self) -> Vec<u32> {
        self.report_starts();
        self.started
    }

    /// The amounts that the cluster offers at this instant.
    pub fn offered(&self) -> &SlotAmounts {
        &self.simulation.room.offered
    }

    /// True if there is room for at least one pending job.
    pub fn any_fits(&self) -> bool {
        let simulation = &*self.simulation;
        simulation.waiting.sizes().any(|size| simulation.room.fits(&simulation.history.sizes[size as usize]))
    }

    pub fn fits(&self, job: u32) -> bool {
        self.simulation.room.fits(self.simulation.size(job))
    }

    /// The pending job that comes first among those that the cluster could run; `None` if there is none.
    pub fn first(&mut self) -> Option<u32> {
        let simulation = &*self.simulation;
        let heads: Vec<u32> = simulation.waiting.heads(|job| simulation.could_start(job)).collect();
        self.simulation.ordered(&self.started[self.reported..], &heads, 1).first().copied()
    }

    /// All pending jobs that the cluster could run, in order.
    pub fn order(&mut self) -> Vec<u32> {
        let simulation = &*self.simulation;
        let all: Vec<u32> = simulation.waiting.all().filter(|job| simulation.could_start(*job)).collect();
        self.simulation.ordered(&self.started[self.reported..], &all, usize::MAX)
    }

    /// The running jobs with their starts.
    pub fn running(&self) -> impl Iterator<Item = (u32, Timestamp)> {
        self.simulation.running.iter().map(|(job, running)| (*job, running.started_at))
    }

    /// The time for which a job is expected to run, in seconds.
    pub fn expected_seconds(&mut self, job: u32) -> u32 {
        // The estimates come from what runs have recorded.
        self.simulation.run();
        self.simulation.expected_seconds(job)
    }

    /// Starts all pending jobs if there is room for all of them, because their order does not matter then. Returns
    /// whether it did.
    pub fn start_all(&mut self) -> bool {
        let all = self.simulation.room.fits(self.simulation.waiting.total());
        if all {
            let mut jobs: Vec<u32> = self.simulation.waiting.all().collect();
            jobs.sort_unstable();
            for job in jobs {
                self.start(job);
            }
        }
        all
    }

    /// Starts all jobs that ask for nothing. They wait for no others (CYCLE §5).
    pub fn start_free_jobs(&mut self) {
        let simulation = &*self.simulation;
        if simulation.waiting.sizes().any(|size| simulation.room.is_free(&simulation.history.sizes[size as usize])) {
            for job in self.order() {
                if self.simulation.room.is_free(self.simulation.size(job)) {
                    self.start(job);
                }
            }
        }
    }

    /// Starts a job. The group learns of it at the end of the round, because a cycle takes the positions of all its workloads from
    /// one order: until then the job counts in that order only, and in a plain one not at all.
    pub fn start(&mut self, job: u32) {
        self.simulation.take_room(job);
        self.started.push(job);
    }

    fn report_starts(&mut self) {
        for job in &self.started[self.reported..] {
            self.simulation.report_start(*job);
        }
        self.reported = self.started.len();
    }

    /// The reservation of a job: the time at which it can start if running jobs end as estimated (CYCLE §5).
    pub fn reservation(&mut self, job: u32) -> JobReservation {
        let ends = self.expected_ends();
        let simulation = &*self.simulation;
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

    /// The expected ends of the running jobs, ascending.
    fn expected_ends(&mut self) -> Vec<(Timestamp, u32)> {
        self.report_starts();
        let running: Vec<(u32, Timestamp)> = self.running().collect();
        let now = self.simulation.now;
        let mut end = |job, start| end_of_running(start, self.expected_seconds(job).into(), now);
        let mut ends: Vec<(Timestamp, u32)> = running.into_iter().map(|(job, start)| (end(job, start), job)).collect();
        ends.sort_unstable();
        ends
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
    pub fn admits(&mut self, round: &mut SchedulerRound, job: u32) -> bool {
        let now = round.simulation.now;
        if end_after(now, round.expected_seconds(job).into()) <= self.from {
            return true;
        }
        let size = round.simulation.size(job);
        let fits = self.room.fits(size);
        if fits {
            self.room.take(size);
        }
        fits
    }
}
