//! The demo's cluster: pure, and the same for the same `now`, seed and number of days.
//!
//! People hand in jobs by habit; each resource group starts them in order on the first node with
//! room, also behind one that still waits; nodes fail and take their kernels with them, which start
//! again elsewhere.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::people::{CPU_FARM, GPU_CLUSTER, INFERENCE, Need, PEOPLE, PROJECTS, Person, Wish};
use super::random::Random;
use crate::domain::time::{Day, SECONDS_PER_DAY};

/// A resource group of equal nodes.
#[derive(Clone, Copy, Debug)]
pub struct GroupPlan {
    pub name: &'static str,
    pub scheduler: &'static str,
    pub nodes: usize,
    pub node: Need,
}

pub const GROUPS: [GroupPlan; 3] = [
    GroupPlan { name: GPU_CLUSTER, scheduler: "fairshare", nodes: 12, node: Need::new(64, 512, 8) },
    GroupPlan { name: CPU_FARM, scheduler: "drf", nodes: 16, node: Need::new(64, 256, 0) },
    GroupPlan { name: INFERENCE, scheduler: "fairshare", nodes: 3, node: Need::new(32, 128, 4) },
];

/// Times are Unix seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoKernel {
    pub group: &'static str,
    /// Place in [`PEOPLE`].
    pub person: usize,
    /// Counts the jobs of the whole demo; runs of one job share it.
    pub job: usize,
    pub attempt: u32,
    /// Which part of its job, of how many; parts start and die together.
    pub member: u32,
    pub members: u32,
    pub need: Need,
    /// The node and the start; without, the kernel is pending.
    pub placed: Option<(usize, i64)>,
    pub ended_at: Option<i64>,
}

/// A node that was down; `until` may lie ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    pub group: &'static str,
    pub node: usize,
    pub from: i64,
    pub until: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// The start of the history.
    pub first_day: Day,
    pub kernels: Vec<DemoKernel>,
    pub outages: Vec<Outage>,
}

/// How long a person waits for a job to start before giving it up.
const PATIENCE: i64 = 36 * 3_600;
/// Jobs behind the head of the queue that may overtake it.
const LOOK_AHEAD: usize = 48;

/// The history of `days` days up to `now` (Unix seconds).
pub fn generate(now: i64, seed: u64, days: u32) -> Cluster {
    let mut random = Random::seeded(seed);
    let today = Day(i32::try_from(now.div_euclid(SECONDS_PER_DAY)).unwrap_or(i32::MAX));
    let first_day = today.back(days);
    let jobs = submissions(now, first_day, today, &mut random);
    let mut cluster = Cluster { first_day, kernels: Vec::new(), outages: Vec::new() };
    for group in &GROUPS {
        let outages = outages(group, now, first_day, &mut random);
        let jobs = jobs.iter().copied().filter(|job| PEOPLE[job.person].group == group.name);
        cluster.kernels.extend(Floor::new(group).run(jobs, &outages, now));
        cluster.outages.extend(outages);
    }
    cluster
}

#[derive(Clone, Copy, Debug)]
struct Job {
    number: usize,
    person: usize,
    submitted_at: i64,
    seconds: i64,
    /// Of each member.
    need: Need,
    members: u32,
    attempt: u32,
    /// Goes before all that wait.
    urgent: bool,
}

/// When two nodes of the GPU cluster came back from maintenance, counted back from now: just after the courses asked for
/// whole nodes, so that education holds more than it is promised at any hour.
const MAINTENANCE_ENDED: i64 = 599;

fn submissions(now: i64, first: Day, today: Day, random: &mut Random) -> Vec<Job> {
    let mut jobs = Vec::new();
    let mut submit = |person, submitted_at, wish: Wish, urgent| {
        if submitted_at < now {
            let Wish { seconds, need, members, .. } = wish;
            jobs.push(Job { number: 0, person, submitted_at, seconds, need, members, attempt: 0, urgent });
        }
    };
    for day in (0..=today.days_since(first)).map(|n| first.plus(n)) {
        for (at, person) in PEOPLE.iter().enumerate() {
            for wish in person.wishes(day, today, random) {
                submit(at, i64::from(day.0) * SECONDS_PER_DAY + wish.at, wish, false);
            }
        }
    }
    // A rush in the last quarter of an hour: more than there are nodes, so that some must wait. Courses end today, so
    // that education comes first.
    let rush = |p: &Person| if p.group == CPU_FARM { Need::new(56, 128, 0) } else { Need::new(48, 384, 8) };
    for (at, person) in PEOPLE.iter().enumerate().filter(|(_, p)| p.group != INFERENCE) {
        let course = PROJECTS[person.project].1 == "education";
        let (longest, shortest) = if course { (900, MAINTENANCE_ENDED + 1) } else { (MAINTENANCE_ENDED, 30) };
        let wish = Wish { at: 0, seconds: random.range(7_200, 36_000), need: rush(person), members: 1 };
        submit(at, now - random.range(shortest, longest), wish, course);
    }
    jobs.sort_by_key(|job| (job.submitted_at, job.person));
    jobs.iter_mut().enumerate().for_each(|(number, job)| job.number = number);
    jobs
}

/// About one failure a node and month, for some hours; of the GPU cluster one node is down right now and two were in
/// maintenance.
fn outages(group: &GroupPlan, now: i64, first: Day, random: &mut Random) -> Vec<Outage> {
    let start = i64::from(first.0) * SECONDS_PER_DAY;
    let mut outages = Vec::new();
    for node in 0..group.nodes {
        let mut at = start + random.range(0, 40 * SECONDS_PER_DAY);
        while at < now - SECONDS_PER_DAY {
            let until = at + random.range(1_800, 14 * 3_600);
            outages.push(Outage { group: group.name, node, from: at, until });
            at = until + random.range(10 * SECONDS_PER_DAY, 50 * SECONDS_PER_DAY);
        }
    }
    if group.name == GPU_CLUSTER {
        let outage = |from_last, from, until| Outage { group: group.name, node: group.nodes - from_last, from, until };
        let ended = now - MAINTENANCE_ENDED;
        outages.push(outage(1, now - 5_400, now + 7_200));
        outages.extend([2, 3].map(|from_last| outage(from_last, ended - 3_600, ended)));
    }
    outages
}

/// The nodes of one group with what happens on them.
struct Floor {
    group: &'static str,
    whole: Need,
    free: Vec<Need>,
    down: Vec<bool>,
    queue: VecDeque<Job>,
    kernels: Vec<DemoKernel>,
    jobs: Vec<Job>,
    /// End and kernel; a kernel that died early has an end of its own.
    ends: BinaryHeap<Reverse<(i64, usize)>>,
}

impl Floor {
    fn new(plan: &GroupPlan) -> Self {
        Self {
            group: plan.name,
            whole: plan.node,
            free: vec![plan.node; plan.nodes],
            down: vec![false; plan.nodes],
            queue: VecDeque::new(),
            kernels: Vec::new(),
            jobs: Vec::new(),
            ends: BinaryHeap::new(),
        }
    }

    fn run(mut self, jobs: impl Iterator<Item = Job>, outages: &[Outage], now: i64) -> Vec<DemoKernel> {
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
            } else {
                match jobs.next() {
                    Some(job) if job.urgent => self.queue.push_front(job),
                    job => self.queue.extend(job),
                }
            }
            self.start_what_fits(at);
        }
        let (group, mut kernels) = (self.group, self.kernels);
        let members = |job: &Job| (0..job.members).map(|member| kernel(group, job, member, None)).collect::<Vec<_>>();
        kernels.extend(self.queue.iter().flat_map(members));
        kernels
    }

    fn end_next(&mut self) {
        let Some(Reverse((at, index))) = self.ends.pop() else { return };
        let kernel = &mut self.kernels[index];
        if let (None, Some((node, _))) = (kernel.ended_at, kernel.placed) {
            kernel.ended_at = Some(at);
            give_back(&mut self.free[node], kernel.need);
        }
    }

    /// A node goes down with all its kernels and what belongs to them, or comes back empty.
    fn switch(&mut self, node: usize, down: bool, at: i64) {
        for index in (0..self.kernels.len()).filter(|_| down) {
            let kernel = &self.kernels[index];
            if kernel.ended_at.is_none() && kernel.placed.is_some_and(|(on, _)| on == node) {
                let job = self.jobs[index];
                self.end_all(job.number, at);
                self.queue.push_front(Job { attempt: job.attempt + 1, submitted_at: at, ..job });
            }
        }
        self.down[node] = down;
        self.free[node] = self.whole;
    }

    /// Ends what still runs of a job.
    fn end_all(&mut self, number: usize, at: i64) {
        for kernel in self.kernels.iter_mut().filter(|k| k.job == number && k.ended_at.is_none()) {
            kernel.ended_at = Some(at);
            if let Some((node, _)) = kernel.placed {
                give_back(&mut self.free[node], kernel.need);
            }
        }
    }

    fn start_what_fits(&mut self, at: i64) {
        self.queue.retain(|job| at - job.submitted_at <= PATIENCE);
        let mut index = 0;
        while index < self.queue.len().min(LOOK_AHEAD) {
            let job = self.queue[index];
            let Some(nodes) = self.places(&job) else {
                index += 1;
                continue;
            };
            self.queue.remove(index);
            for (member, node) in (0..job.members).zip(nodes) {
                self.ends.push(Reverse((at + job.seconds, self.kernels.len())));
                self.kernels.push(kernel(self.group, &job, member, Some((node, at))));
                self.jobs.push(job);
            }
        }
    }

    /// A node for each member, taken; or none of them.
    fn places(&mut self, job: &Job) -> Option<Vec<usize>> {
        let mut nodes: Vec<usize> = Vec::new();
        for _ in 0..job.members {
            let fits = |node: &usize| !self.down[*node] && holds(self.free[*node], job.need);
            let Some(node) = (0..self.free.len()).find(fits) else {
                for taken in nodes {
                    give_back(&mut self.free[taken], job.need);
                }
                return None;
            };
            take(&mut self.free[node], job.need);
            nodes.push(node);
        }
        Some(nodes)
    }
}

fn kernel(group: &'static str, job: &Job, member: u32, placed: Option<(usize, i64)>) -> DemoKernel {
    let Job { number, person, need, attempt, members, .. } = *job;
    DemoKernel { group, person, job: number, attempt, member, members, need, placed, ended_at: None }
}

fn holds(free: Need, need: Need) -> bool {
    free.cpu >= need.cpu && free.mem_gib >= need.mem_gib && free.gpu >= need.gpu
}

fn take(free: &mut Need, need: Need) {
    *free = Need::new(free.cpu - need.cpu, free.mem_gib - need.mem_gib, free.gpu - need.gpu);
}

fn give_back(free: &mut Need, need: Need) {
    *free = Need::new(free.cpu + need.cpu, free.mem_gib + need.mem_gib, free.gpu + need.gpu);
}
