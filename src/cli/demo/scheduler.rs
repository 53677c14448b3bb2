//! The scheduler of one resource group in the demo's past. Jobs arrive, start in the order of fair share where they
//! fit, and end. Nodes fail together with their kernels, which start again elsewhere.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::fair_order::FairOrder;
use super::groups::{DemoKernel, GroupPlan, NodeOutage};
use super::jobs::DemoJob;
use super::nodes::DemoNodes;
use super::people::KernelNeed;

pub(super) struct DemoScheduler {
    group: &'static str,
    nodes: DemoNodes,
    order: FairOrder,
    /// Pending jobs by number. Older jobs have smaller numbers.
    waiting: BTreeMap<usize, DemoJob>,
    kernels: Vec<DemoKernel>,
    /// The job of each kernel.
    jobs: Vec<DemoJob>,
    /// Ends and kernels. A kernel that was terminated early has ended before.
    ends: BinaryHeap<Reverse<(i64, usize)>>,
}

impl DemoScheduler {
    /// `None` if the group's options are not valid.
    pub fn new(plan: &GroupPlan, from: i64) -> Option<Self> {
        Some(Self {
            group: plan.name,
            nodes: DemoNodes::new(plan),
            order: FairOrder::new(plan, from)?,
            waiting: BTreeMap::new(),
            kernels: Vec::new(),
            jobs: Vec::new(),
            ends: BinaryHeap::new(),
        })
    }

    /// The kernels of `jobs` in their state at `now`, with pending ones at the end.
    pub fn run(mut self, jobs: impl Iterator<Item = DemoJob>, outages: &[NodeOutage], now: i64) -> Vec<DemoKernel> {
        let mut changes: Vec<(i64, usize, bool)> =
            outages.iter().flat_map(|o| [(o.from, o.node, true), (o.until, o.node, false)]).collect();
        changes.sort_unstable();
        let mut changes = changes.into_iter().filter(|(at, ..)| *at < now).peekable();
        let mut jobs = jobs.peekable();
        loop {
            let end = self.ends.peek().map(|Reverse((at, _))| *at).filter(|at| *at < now);
            let change = changes.peek().map(|(at, ..)| *at);
            let job = jobs.peek().map(|job| job.submitted_at);
            let Some(at) = [end, change, job].into_iter().flatten().min() else { break };
            if end == Some(at) {
                self.end_next();
            } else if change == Some(at) {
                if let Some((_, node, down)) = changes.next() {
                    self.switch(node, down, at);
                }
            } else if let Some(job) = jobs.next() {
                self.waiting.insert(job.number, job);
            }
            self.start_what_fits(at);
        }
        self.waiting.retain(|_, job| job.gives_up_at >= now);
        let (group, mut kernels) = (self.group, self.kernels);
        let members =
            |job: &DemoJob| (0..job.members).map(|member| kernel(group, job, member, None)).collect::<Vec<_>>();
        kernels.extend(self.waiting.values().flat_map(members));
        kernels
    }

    fn end_next(&mut self) {
        let Some(Reverse((at, index))) = self.ends.pop() else { return };
        if self.kernels[index].ended_at.is_none() {
            self.end(index, at);
        }
    }

    fn end(&mut self, index: usize, at: i64) {
        let kernel = &mut self.kernels[index];
        kernel.ended_at = Some(at);
        if let Some((node, _)) = kernel.placed {
            self.nodes.give_back(node, kernel.need);
        }
        self.order.end(index, at);
    }

    /// Lets a node go down, with all its kernels and the other members of their jobs, or come back empty.
    fn switch(&mut self, node: usize, down: bool, at: i64) {
        for index in (0..self.kernels.len()).filter(|_| down) {
            let kernel = &self.kernels[index];
            if kernel.ended_at.is_none() && kernel.placed.is_some_and(|(on, _)| on == node) {
                let job = self.jobs[index];
                self.end_all(job.number, at);
                let gives_up_at = job.gives_up_at + (at - job.submitted_at);
                let again = DemoJob { attempt: job.attempt + 1, submitted_at: at, gives_up_at, ..job };
                self.waiting.insert(job.number, again);
            }
        }
        self.nodes.switch(node, down);
        self.order.offer(self.nodes.up(), at);
    }

    /// Ends the running kernels of a job.
    fn end_all(&mut self, number: usize, at: i64) {
        for index in 0..self.kernels.len() {
            if self.jobs[index].number == number && self.kernels[index].ended_at.is_none() {
                self.end(index, at);
            }
        }
    }

    fn start_what_fits(&mut self, at: i64) {
        self.waiting.retain(|_, job| at <= job.gives_up_at);
        self.nodes.keep_for_waiting(|number| self.waiting.contains_key(&number));
        while self.start_first_that_fits(at) {}
    }

    /// Starts the first job in order that fits. Returns true if there was one.
    fn start_first_that_fits(&mut self, at: i64) -> bool {
        let jobs = self.oldest_of_each_size();
        if !jobs.iter().any(|job| self.nodes.find(job).is_some()) {
            return false;
        }
        let mut may_keep = true;
        for place in self.order.order(&jobs, at) {
            let job = jobs[place];
            if let Some(nodes) = self.nodes.place(&job) {
                self.start(job, nodes, at);
                return true;
            }
            if may_keep && self.nodes.would_keep(&job) {
                self.nodes.keep_for(&job);
                may_keep = false;
            }
        }
        false
    }

    fn start(&mut self, job: DemoJob, nodes: Vec<usize>, at: i64) {
        self.waiting.remove(&job.number);
        for (member, node) in (0..job.members).zip(nodes) {
            self.ends.push(Reverse((at + job.seconds, self.kernels.len())));
            self.order.start(self.kernels.len(), &job, at);
            self.kernels.push(kernel(self.group, &job, member, Some((node, at))));
            self.jobs.push(job);
        }
    }

    /// The oldest pending job of each person and size. None of the others can come first.
    fn oldest_of_each_size(&self) -> Vec<DemoJob> {
        let mut oldest: BTreeMap<(usize, KernelNeed, u32), DemoJob> = BTreeMap::new();
        for job in self.waiting.values() {
            oldest.entry((job.person, job.need, job.members)).or_insert(*job);
        }
        oldest.into_values().collect()
    }
}

fn kernel(group: &'static str, job: &DemoJob, member: u32, placed: Option<(usize, i64)>) -> DemoKernel {
    let DemoJob { number, person, need, attempt, members, .. } = *job;
    DemoKernel { group, person, job: number, attempt, member, members, need, placed, ended_at: None }
}
