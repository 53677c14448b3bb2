//! The input of a forecast at one instant of a replay: the past, and the jobs that run and wait.

use std::borrow::Cow;
use std::sync::Arc;

use super::{ReplaySimulation, RunningJob, number};
use crate::cycle::BackfillMode;
use crate::forecast::{
    ForecastAgent, ForecastInput, ForecastMember, ForecastRunning, ForecastWorkload, JobClass, PastSubmission,
    RunTimeModel, RunTimeSource, WorkloadKind,
};
use crate::maps::FastMap;
use crate::sequencer::SequenceWorkload;
use crate::sequencer::progressive::ResourceRequest;
use crate::time::MICROS_PER_SECOND;

/// The weeks of the past that forecasts look at, in microseconds.
const PAST_MICROS: i64 = 28 * 24 * 3_600 * MICROS_PER_SECOND;

/// The kinds of workloads, one for each size that occurs.
#[derive(Default)]
struct KindList {
    kinds: Vec<WorkloadKind>,
    by_size: FastMap<u32, usize>,
}

impl ReplaySimulation<'_> {
    /// Adds the jobs that have ended since `model` was last brought up to date. Returns how many have ended in all.
    pub fn add_ended_jobs(&self, model: &mut RunTimeModel, known: usize) -> usize {
        for job in &self.ended[known..] {
            let of = self.job(*job);
            let class = JobClass::of(self.size(*job), &self.room.offered, of.limit_seconds);
            model.add(self.owner(*job), class, of.limit_seconds, f64::from(of.ran_seconds()));
        }
        self.ended.len()
    }

    /// The jobs that were submitted since the first `known` and wait now. Returns how many were submitted in all.
    pub fn find_waiting(&self, known: usize) -> (Vec<u32>, usize) {
        let waits = |job: &u32| self.starts[*job as usize].is_none();
        ((known..self.arrived).map(number).filter(waits).collect(), self.arrived)
    }

    /// The input of a forecast, and the place of the job among those that wait.
    pub fn forecast_input(
        &mut self,
        job: u32,
        run_times: RunTimeSource,
        backfill: BackfillMode,
        with_submissions: bool,
    ) -> Option<(usize, ForecastInput)> {
        let mut kinds = KindList::default();
        let past = if with_submissions { self.past_jobs() } else { 0..0 };
        let (order, places) = self.order_with_new_jobs(&past);
        let place = order.iter().position(|waiting| *waiting == job)?;
        let history = self.history;
        let mut workload = |number: u32| ForecastWorkload {
            owner: self.owner(number),
            kind: kinds.number(self.job(number).size, self.size(number).clone()),
            asked_seconds: self.asked_seconds(number),
            expected_seconds: Some(self.expected_seconds(number)),
        };
        let waiting = order.iter().map(|number| workload(*number)).collect();
        let past = past.map(|at| {
            let of = &history.jobs[at];
            let has_ended = self.starts[at].is_some_and(|start| of.end(start) <= self.now);
            PastSubmission {
                submitted_at: of.submitted_at,
                workload: workload(number(at)),
                ran_seconds: has_ended.then(|| of.ran_seconds()),
                place: places.get(&of.owner).copied().unwrap_or(u32::MAX / 4),
            }
        });
        let past: Vec<PastSubmission> = past.collect();
        let past_from = past.first().map(|submission| submission.submitted_at);
        let running = self.running.iter().map(|(job, running)| self.forecast_running(*job, *running)).collect();
        let input = ForecastInput {
            now: self.now,
            capacity: self.room.offered.clone(),
            agents: vec![ForecastAgent { slots: self.room.offered.clone(), is_schedulable: true }],
            queue_limits: Vec::new(),
            kinds: kinds.kinds,
            running,
            waiting,
            past_from: past_from.unwrap_or(self.now),
            past,
            run_times,
            backfill,
            order: self.group.owner_order(self.policy, self.now),
        };
        Some((place, input))
    }

    fn past_jobs(&self) -> std::ops::Range<usize> {
        let from = self.now.plus_micros(-PAST_MICROS);
        let first = self.history.jobs[..self.arrived].partition_point(|job| job.submitted_at < from);
        first..self.arrived
    }

    /// The announced run time. Without one the forecast draws it from jobs that had none either.
    fn asked_seconds(&self, job: u32) -> Option<u32> {
        self.job(job).limit_seconds
    }

    fn forecast_running(&self, job: u32, running: RunningJob) -> ForecastRunning {
        ForecastRunning {
            owner: self.owner(job),
            started_at: running.started_at,
            asked_seconds: self.asked_seconds(job),
            expected_seconds: Some(self.expected_seconds(job)),
            members: vec![(0, self.size(job).clone())],
            queues: Arc::default(),
        }
    }

    /// The waiting jobs in order, and for each owner of the past how many of them come before a new job.
    fn order_with_new_jobs(&mut self, past: &std::ops::Range<usize>) -> (Vec<u32>, FastMap<u32, u32>) {
        if self.policy.reads_runs() {
            self.run();
        }
        let waiting: Vec<u32> = self.waiting.all().collect();
        let mut owners: Vec<u32> = self.history.jobs[past.clone()].iter().map(|job| job.owner).collect();
        owners.sort_unstable();
        owners.dedup();
        let new_workload = |owner: &u32| {
            let member = self.history.owners[*owner as usize].member;
            // The id comes after those of the trace.
            SequenceWorkload {
                id: Cow::Borrowed("\u{10ffff}"),
                owner: member,
                submitted_at: Some(self.now),
                priority: 0,
            }
        };
        let workloads: Vec<SequenceWorkload> =
            waiting.iter().map(|job| self.sequence_workload(*job)).chain(owners.iter().map(new_workload)).collect();
        let nothing = ResourceRequest { slots: None, seconds: None };
        let requests: Vec<ResourceRequest> =
            waiting.iter().map(|job| self.resource_request(*job)).chain(owners.iter().map(|_| nothing)).collect();
        let sorted = self.group.order(self.policy, &[], (&workloads, &requests), self.now, usize::MAX);
        let (mut order, mut places) = (Vec::with_capacity(waiting.len()), FastMap::default());
        for at in sorted {
            let at = at as usize;
            match waiting.get(at) {
                Some(job) => order.push(*job),
                None => {
                    places.insert(owners[at - waiting.len()], number(order.len()));
                }
            }
        }
        (order, places)
    }
}

impl KindList {
    fn number(&mut self, size: u32, slots: crate::slots::SlotAmounts) -> usize {
        let Self { kinds, by_size } = self;
        *by_size.entry(size).or_insert_with(|| {
            let member = ForecastMember { slots, count: 1, admitted: None };
            kinds.push(WorkloadKind { members: vec![member], minimum: 1, queues: Arc::default() });
            kinds.len() - 1
        })
    }
}
