//! The event-driven simulation of one resource group: jobs arrive and end, runs record usage, and the scheduler starts
//! jobs.

mod forecast;
mod round;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::cluster_capacity::ClusterCapacity;
use super::group::{ReplayGroup, WorkloadStart};
use super::history::{ReplayHistory, TraceJob};
use super::pending_jobs::PendingJobs;
use super::policy::ReplayPolicy;
use crate::hierarchy::Share;
use crate::ids::{KernelKey, Member};
use crate::reading::seconds::{MAX_SECONDS, shorten};
use crate::run_times::ExpectedRuntime;
use crate::sequencer::SequenceWorkload;
use crate::sequencer::progressive::{GroupUsage, ResourceRequest};
use crate::slots::SlotAmounts;
use crate::time::{MICROS_PER_SECOND, Timestamp};

pub use round::{JobReservation, SchedulerRound};

/// The source of the runtimes that the scheduler and the sequencer expect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RuntimeEstimates {
    /// The limit that the user set; without one, an estimate from jobs that ended.
    #[default]
    Given,
    /// The real runtime.
    Perfect,
}

impl RuntimeEstimates {
    /// The seconds that are announced to the scheduler, in the range that a server takes.
    fn announced_seconds(self, job: &TraceJob) -> Option<u32> {
        let seconds = match self {
            Self::Given => job.limit_seconds?,
            Self::Perfect => job.ran_seconds(),
        };
        Some(seconds.clamp(1, MAX_SECONDS))
    }
}

/// A running job.
#[derive(Clone, Copy, Debug)]
struct RunningJob {
    key: KernelKey,
    started_at: Timestamp,
}

/// The state of the simulation at one instant.
pub struct ReplaySimulation<'h> {
    history: &'h ReplayHistory,
    policy: &'h ReplayPolicy,
    estimates: RuntimeEstimates,
    group: ReplayGroup,
    room: ClusterCapacity,
    /// By size: true if it is more than the cluster offers at present.
    too_large: Vec<bool>,
    waiting: PendingJobs,
    running: BTreeMap<u32, RunningJob>,
    ends: BinaryHeap<Reverse<(Timestamp, u32)>>,
    /// The start of each job that has started.
    starts: Vec<Option<Timestamp>>,
    /// The jobs that have ended, in the order of their ends.
    ended: Vec<u32>,
    now: Timestamp,
    next_run: Timestamp,
    /// A run that was due and was put off, because nothing has needed its results yet.
    due: Option<Timestamp>,
    /// The time of the last run.
    ran_at: Timestamp,
    arrived: usize,
    offered: usize,
}

impl<'h> ReplaySimulation<'h> {
    /// `None` if the history has no jobs.
    pub fn new(history: &'h ReplayHistory, policy: &'h ReplayPolicy, estimates: RuntimeEstimates) -> Option<Self> {
        let now = history.jobs.first()?.submitted_at;
        let offered = history.offers.partition_point(|offer| offer.from <= now);
        let offer = history.offered(offered.checked_sub(1).map(|last| &history.offers[last]));
        let mut group = ReplayGroup::new(policy, offer.clone(), now);
        for person in &history.owners {
            group.add_owner(person.member, &person.domain, policy);
        }
        let room = ClusterCapacity::new(offer);
        Some(Self {
            history,
            policy,
            estimates,
            group,
            too_large: find_too_large(history, &room),
            room,
            waiting: PendingJobs::new(policy),
            running: BTreeMap::new(),
            ends: BinaryHeap::new(),
            starts: vec![None; history.jobs.len()],
            ended: Vec::new(),
            now,
            next_run: now.plus_micros(run_interval(policy)),
            due: None,
            ran_at: now,
            arrived: 0,
            offered,
        })
    }

    /// Advances to the next event. Returns its time; `None` if there is none.
    pub fn advance_to_next_event(&mut self) -> Option<Timestamp> {
        let now = self.next_event()?;
        self.advance(now);
        Some(now)
    }

    /// The view of the scheduler at this instant.
    pub fn round(&mut self) -> SchedulerRound<'_, 'h> {
        SchedulerRound::new(self)
    }

    /// The time of the next event; `None` if there is none.
    fn next_event(&self) -> Option<Timestamp> {
        let arrival = self.history.jobs.get(self.arrived).map(|job| job.submitted_at);
        let end = self.ends.peek().map(|Reverse((end, _))| *end);
        let offer = self.history.offers.get(self.offered).map(|offer| offer.from);
        // A change of capacity matters only while jobs arrive or wait.
        let offer = offer.filter(|_| arrival.is_some() || !self.waiting.is_empty());
        let event = [arrival, end, offer].into_iter().flatten().min()?;
        // A run may change the order and so the jobs that can start.
        let run = Some(self.next_run).filter(|_| !self.waiting.is_empty() && self.policy.reads_runs());
        Some(run.map_or(event, |run| run.min(event)))
    }

    /// Advances to an instant, which must not be after the next event.
    fn advance(&mut self, now: Timestamp) {
        self.now = now;
        while let Some(offer) = self.history.offers.get(self.offered).filter(|offer| offer.from <= now) {
            // Runs before the change have to see the capacity of their time.
            self.pass_runs(offer.from.plus_micros(-1));
            self.run();
            let slots = self.history.offered(Some(offer));
            self.room.offered = slots.clone();
            self.too_large = find_too_large(self.history, &self.room);
            self.group.offer(slots, offer.from);
            self.offered += 1;
        }
        while let Some(Reverse((_, job))) = self.ends.peek().copied().filter(|Reverse((end, _))| *end <= now) {
            self.ends.pop();
            self.end(job);
        }
        self.pass_runs(now);
        while let Some(job) = self.history.jobs.get(self.arrived).filter(|job| job.submitted_at <= now) {
            self.waiting.put(number(self.arrived), job, self.size(number(self.arrived)));
            self.arrived += 1;
        }
    }

    /// The start of each job; `None` if it never started.
    pub fn into_starts(self) -> Vec<Option<Timestamp>> {
        self.starts
    }

    /// Notes the last run that was due. Only orders and estimates show what runs have recorded, so of several runs the
    /// last one is enough. One run on each day is executed nevertheless, because it keeps the work of the next run
    /// small.
    fn pass_runs(&mut self, now: Timestamp) {
        if self.next_run > now {
            return;
        }
        let interval = run_interval(self.policy);
        let passed = (now.micros() - self.next_run.micros()) / interval;
        let last = self.next_run.plus_micros(passed * interval);
        let other_day = self.ran_at.day() != last.day();
        self.due = Some(last);
        self.next_run = last.plus_micros(interval);
        if other_day {
            self.run();
        }
    }

    /// Executes the run that was put off.
    fn run(&mut self) {
        if let Some(due) = self.due.take() {
            self.group.run(due);
            self.ran_at = due;
        }
    }

    fn end(&mut self, job: u32) {
        if let Some(running) = self.running.remove(&job) {
            self.group.end(running.key, self.now);
            self.room.give_back(self.size(job));
            self.ended.push(job);
        }
    }

    fn job(&self, job: u32) -> &'h TraceJob {
        &self.history.jobs[job as usize]
    }

    fn size(&self, job: u32) -> &'h SlotAmounts {
        self.history.size(self.job(job))
    }

    fn owner(&self, job: u32) -> Member {
        self.history.owner(self.job(job)).member
    }

    /// True if the job asks for no more than the cluster offers at present. Another one keeps no place ahead of others
    /// (CYCLE §3).
    fn could_start(&self, job: u32) -> bool {
        !self.too_large[self.job(job).size as usize]
    }

    /// Takes a job from the pending ones into the room.
    fn take_room(&mut self, number: u32) {
        self.waiting.remove(number, self.job(number), self.size(number));
        debug_assert!(self.room.fits(self.size(number)), "a job starts where it fits");
        self.room.take(self.size(number));
    }

    /// Lets the group know of a job that has started.
    fn report_start(&mut self, number: u32) {
        let start = WorkloadStart {
            owner: self.owner(number),
            slots: self.size(number).clone(),
            reported_seconds: self.estimates.announced_seconds(self.job(number)),
        };
        let running = RunningJob { key: self.group.start(start, self.now), started_at: self.now };
        self.running.insert(number, running);
        self.starts[number as usize] = Some(self.now);
        self.ends.push(Reverse((self.job(number).end(self.now), number)));
    }

    /// The first `most` of these jobs in the order of the policy, in which `placed` come before them.
    fn ordered(&mut self, placed: &[u32], jobs: &[u32], most: usize) -> Vec<u32> {
        if self.policy.reads_runs() {
            self.run();
        }
        let workloads: Vec<SequenceWorkload> = jobs.iter().map(|job| self.sequence_workload(*job)).collect();
        let requests: Vec<ResourceRequest> = jobs.iter().map(|job| self.resource_request(*job)).collect();
        let placed: Vec<(Member, ResourceRequest)> =
            placed.iter().map(|job| (self.owner(*job), self.resource_request(*job))).collect();
        let order = self.group.order(self.policy, &placed, (&workloads, &requests), self.now, most);
        order.into_iter().map(|at| jobs[at as usize]).collect()
    }

    /// The job as a sequence takes it.
    fn sequence_workload(&self, number: u32) -> SequenceWorkload<'h> {
        let job = self.job(number);
        let (id, owner) = (Cow::Borrowed(&*job.id), self.owner(number));
        SequenceWorkload { id, owner, submitted_at: Some(job.submitted_at), priority: job.priority }
    }

    /// The request of the job, as a progressive sequence charges it.
    fn resource_request(&self, number: u32) -> ResourceRequest<'h> {
        ResourceRequest { slots: Some(self.size(number)), seconds: self.estimates.announced_seconds(self.job(number)) }
    }

    /// The expected runtime of a job in whole seconds, as a live group gives it to a cycle: the learned one is rounded up, and none
    /// is longer than a year.
    fn expected_seconds(&self, number: u32) -> u32 {
        self.estimates.announced_seconds(self.job(number)).unwrap_or_else(|| {
            let own = self.group.user(self.owner(number)).map(Share::run_times).unwrap_or_default();
            let learned = ExpectedRuntime::new(own, self.group.run_times(), self.group.options()).micros(None);
            shorten(learned.div_ceil(MICROS_PER_SECOND.unsigned_abs()))
        })
    }
}

/// By size: true if it is more than the cluster offers.
fn find_too_large(history: &ReplayHistory, room: &ClusterCapacity) -> Vec<bool> {
    history.sizes.iter().map(|size| !room.fits_empty(size)).collect()
}

fn run_interval(policy: &ReplayPolicy) -> i64 {
    i64::from(policy.options.slice_interval_seconds) * MICROS_PER_SECOND
}

fn number(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}
