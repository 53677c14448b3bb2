//! A simulated cluster in a closed loop, on a simulated clock. Every user always has waiting jobs, and each device that
//! becomes free starts the first job of the order. The usage of the owners is then compared with the entitlements of
//! their weights (FAIR_SHARE §10).

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use fairshared::domain::decimal::Amount;
use fairshared::domain::identity;
use fairshared::domain::ids::{KernelKey, Member, Owner};
use fairshared::domain::options::{FairShareOptions, FairshareOrder, SequenceMode};
use fairshared::domain::replay::group::{ReplayGroup, WorkloadStart};
use fairshared::domain::replay::policy::ReplayPolicy;
use fairshared::domain::sequencer::progressive::{DomainByProject, GroupAccounts, ResourceRequest, UsageAccounts};
use fairshared::domain::sequencer::{SequenceWorkload, Sequencer};
use fairshared::domain::slots::{SlotAmounts, SlotName};
use fairshared::domain::time::{MICROS_PER_SECOND, SECONDS_PER_DAY, Timestamp};
use fairshared::domain::weight::Weight;

use super::dice::Dice;

pub const DOMAINS: [(&str, f64); 4] = [("a", 2.0), ("b", 1.0), ("c", 1.0), ("d", 0.5)];

/// The users, projects, weights and devices of a simulation.
#[derive(Clone)]
pub struct Cast {
    pub users: usize,
    pub projects: usize,
    pub user_weights: &'static [f64],
    pub devices: usize,
}

/// The size for the ordinary tests.
pub const SMALL: Cast = Cast { users: 40, projects: 8, user_weights: &[0.5, 1.0, 2.0, 4.0, 8.0], devices: 16 };
/// The size for the bench.
pub const LARGE: Cast =
    Cast { users: 200, projects: 12, user_weights: &[0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 24.0], devices: 64 };

impl Cast {
    pub fn project(&self, user: usize) -> usize {
        user % self.projects
    }

    pub fn domain(&self, user: usize) -> (&'static str, f64) {
        DOMAINS[self.project(user) % DOMAINS.len()]
    }

    pub fn weight(&self, user: usize) -> f64 {
        self.user_weights[user / self.projects % self.user_weights.len()]
    }

    pub fn member(&self, user: usize) -> Member {
        Member {
            user: identity::user(&format!("user-{user}")),
            project: identity::project(&format!("project-{}", self.project(user))),
        }
    }

    /// The part of the cluster, from 0 to 1, that each user is entitled to by weight.
    pub fn entitled(&self, order: FairshareOrder) -> Vec<f64> {
        let in_domain = |domain: &str| {
            (0..self.projects).filter(|project| DOMAINS[project % DOMAINS.len()].0 == domain).count() as f64
        };
        let part = |user: usize| match order {
            FairshareOrder::Flat => self.domain(user).1 * self.weight(user),
            FairshareOrder::Tiered => {
                let siblings = (0..self.users).filter(|other| self.project(*other) == self.project(user));
                let weights: f64 = siblings.map(|other| self.weight(other)).sum();
                let (domain, weight) = self.domain(user);
                weight / in_domain(domain) * self.weight(user) / weights
            }
        };
        let all: f64 = (0..self.users).map(part).sum();
        (0..self.users).map(|user| part(user) / all).collect()
    }

    /// The sums of `figures`, which are by user, for each domain.
    pub fn by_domain(&self, figures: &[f64]) -> Vec<f64> {
        let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
        for (user, figure) in figures.iter().enumerate() {
            *sums.entry(self.domain(user).0).or_default() += figure;
        }
        sums.into_values().collect()
    }
}

/// The part of the usage that went to owners beyond their entitlement, from 0 to 1.
pub fn misallocated(achieved: &[f64], entitled: &[f64]) -> f64 {
    achieved.iter().zip(entitled).map(|(a, e)| (a - e).abs()).sum::<f64>() / 2.0
}

/// The run times of the jobs, in seconds.
#[derive(Clone, Copy, Debug)]
pub enum Lengths {
    All(i64),
    /// Log-normal: half of the jobs are shorter than half an hour, one in six is longer than two hours, and none is
    /// longer than a day.
    Mix,
}

const MIX_MEDIAN: f64 = 1_800.0;
const MIX_SIGMA: f64 = 1.5;
const MIX_LONGEST: f64 = SECONDS_PER_DAY as f64;

impl Lengths {
    fn roll(self, dice: &mut Dice) -> i64 {
        if let Self::All(seconds) = self {
            return seconds;
        }
        // The sum of twelve uniform numbers is approximately normal.
        let bell = (0..12).map(|_| dice.roll(1 << 20) as f64 / f64::from(1 << 20)).sum::<f64>() - 6.0;
        #[allow(clippy::cast_possible_truncation, reason = "at most a day")]
        let seconds = (MIX_MEDIAN * (MIX_SIGMA * bell).exp()).clamp(10.0, MIX_LONGEST) as i64;
        seconds
    }

    /// The mean run time in seconds.
    pub fn mean(self) -> f64 {
        match self {
            Self::All(seconds) => seconds as f64,
            Self::Mix => MIX_MEDIAN * (MIX_SIGMA * MIX_SIGMA / 2.0).exp(),
        }
    }
}

/// The settings of one loop.
#[derive(Clone)]
pub struct Scene {
    pub cast: Cast,
    pub order: FairshareOrder,
    pub mode: SequenceMode,
    pub half_life_days: u32,
    pub lookback_days: u32,
    /// The interval of the runs that calculate factors.
    pub interval_seconds: u32,
    pub lengths: Lengths,
    /// Users whose jobs have another length than all others.
    pub other_lengths: BTreeMap<usize, i64>,
    /// The run time that a user announces for each of its jobs, in seconds.
    pub told: BTreeMap<usize, u32>,
}

impl Scene {
    /// The look-back is four half-lives, but at least a week.
    pub fn new(cast: &Cast, order: FairshareOrder, mode: SequenceMode, half_life_days: u32, lengths: Lengths) -> Self {
        Self {
            cast: cast.clone(),
            order,
            mode,
            half_life_days,
            lookback_days: (4 * half_life_days).max(7),
            interval_seconds: 300,
            lengths,
            other_lengths: BTreeMap::new(),
            told: BTreeMap::new(),
        }
    }

    fn policy(&self) -> ReplayPolicy {
        let options = FairShareOptions {
            half_life_days: self.half_life_days,
            lookback_days: self.lookback_days,
            slice_interval_seconds: self.interval_seconds,
            order: self.order,
            sequence_mode: self.mode,
            ..FairShareOptions::default()
        };
        let weight = |value: f64| Weight::parse(&value.to_string()).unwrap();
        let domains = DOMAINS.iter().map(|(name, value)| (Owner::Domain((*name).into()), weight(*value)));
        let users =
            (0..self.cast.users).map(|user| (Owner::User(self.cast.member(user)), weight(self.cast.weight(user))));
        let sequencer = Sequencer::by_name("fairshare").unwrap();
        ReplayPolicy { name: String::new(), sequencer, options, weights: domains.chain(users).collect() }
    }

    /// True for an owner who is entitled to at least two jobs in a half-life. Below that, usage decays faster than the
    /// owner can get its share.
    pub fn is_served(&self, entitled: f64) -> bool {
        let seconds = f64::from(self.half_life_days) * SECONDS_PER_DAY as f64;
        entitled * self.cast.devices as f64 * seconds >= 2.0 * self.lengths.mean()
    }
}

/// A running simulation.
pub struct Loop {
    scene: Scene,
    policy: ReplayPolicy,
    group: ReplayGroup,
    one: SlotAmounts,
    dice: Dice,
    pub now: Timestamp,
    next_run: Timestamp,
    /// Busy devices: the end of the job, its kernel, and its user.
    busy: BinaryHeap<Reverse<(Timestamp, KernelKey, usize)>>,
    /// The number of devices that have not had a job yet.
    fresh_devices: i64,
    /// The number of waiting jobs of each user; `None`: always at least one.
    waiting: Vec<Option<u64>>,
    /// The usage of each user since the last [`Self::clear`], in seconds of one device.
    used: Vec<f64>,
}

/// The result of a simulation: misallocated parts by tier, and each user's part of the total usage.
pub struct Got {
    pub users: f64,
    pub domains: f64,
    /// The number of users who are entitled to less than two jobs in a half-life. They are left out of `users`.
    pub left_out: usize,
    pub achieved: Vec<f64>,
    pub entitled: Vec<f64>,
}

impl Loop {
    pub fn new(scene: Scene) -> Self {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let policy = scene.policy();
        let device = SlotName::new("cuda.device").unwrap();
        let offered = [(device, Amount::whole(scene.cast.devices as u64))].into_iter().collect();
        let mut group = ReplayGroup::new(&policy, offered, now);
        for user in 0..scene.cast.users {
            group.add_owner(scene.cast.member(user), &Arc::from(scene.cast.domain(user).0), &policy);
        }
        let next_run = now.plus_micros(interval(&policy));
        let users = scene.cast.users;
        let one = [(device, Amount::ONE)].into_iter().collect();
        let (waiting, used) = (vec![None; users], vec![0.0; users]);
        let (dice, busy) = (Dice::seeded(7), BinaryHeap::new());
        let fresh_devices = i64::try_from(scene.cast.devices).unwrap();
        Self { scene, policy, group, one, dice, now, next_run, busy, fresh_devices, waiting, used }
    }

    /// Gives the user `jobs` waiting jobs, and none after them.
    pub fn submit(&mut self, user: usize, jobs: u64) {
        self.waiting[user] = Some(jobs);
    }

    pub fn waits(&self, user: usize) -> bool {
        self.waiting[user] != Some(0)
    }

    /// The first user in the order of those with waiting jobs.
    fn first(&self) -> Option<usize> {
        let users: Vec<usize> = (0..self.scene.cast.users).filter(|user| self.waits(*user)).collect();
        let workload = |user: &usize| SequenceWorkload {
            id: Cow::Borrowed(""),
            owner: self.scene.cast.member(*user),
            submitted_at: None,
            priority: 0,
        };
        let request =
            |user: &usize| ResourceRequest { slots: Some(&self.one), seconds: self.scene.told.get(user).copied() };
        let workloads: Vec<SequenceWorkload> = users.iter().map(workload).collect();
        let requests: Vec<ResourceRequest> = users.iter().map(request).collect();
        let order = self.group.order(&self.policy, &[], (&workloads, &requests), self.now, 1);
        order.first().map(|at| users[*at as usize])
    }

    fn start(&mut self, user: usize) {
        if let Some(left) = &mut self.waiting[user] {
            *left -= 1;
        }
        let mut length = match self.scene.other_lengths.get(&user) {
            Some(length) => *length,
            None => self.scene.lengths.roll(&mut self.dice),
        };
        if self.fresh_devices > 0 {
            // The first jobs are shortened by different parts. Otherwise jobs of one length would always end together.
            length = length * self.fresh_devices / i64::try_from(self.scene.cast.devices).unwrap();
            self.fresh_devices -= 1;
        }
        let reported_seconds = self.scene.told.get(&user).copied();
        let start = WorkloadStart { owner: self.scene.cast.member(user), slots: self.one.clone(), reported_seconds };
        let key = self.group.start(start, self.now);
        let end = self.now.plus_micros(length * MICROS_PER_SECOND);
        self.busy.push(Reverse((end, key, user)));
        self.used[user] += length as f64;
    }

    /// Advances to the next end of a job or the next run, and starts jobs on the free devices. Returns the users of
    /// these jobs.
    pub fn step(&mut self) -> Vec<usize> {
        let mut started = Vec::new();
        let end = self.busy.peek().map(|Reverse((end, ..))| *end);
        self.now = end.filter(|_| self.busy.len() == self.scene.cast.devices).unwrap_or(self.now).min(self.next_run);
        while let Some(Reverse((_, key, _))) = self.busy.peek().copied().filter(|Reverse((end, ..))| *end <= self.now) {
            self.busy.pop();
            self.group.end(key, self.now);
        }
        if self.now == self.next_run {
            self.group.run(self.now);
            self.next_run = self.now.plus_micros(interval(&self.policy));
        }
        while self.busy.len() < self.scene.cast.devices
            && let Some(user) = self.first()
        {
            self.start(user);
            started.push(user);
        }
        started
    }

    pub fn until(&mut self, end: Timestamp) {
        while self.now < end {
            self.step();
        }
    }

    pub fn for_seconds(&mut self, seconds: i64) {
        self.until(self.now.plus_micros(seconds * MICROS_PER_SECOND));
    }

    /// Restarts the measurement of usage.
    pub fn clear(&mut self) {
        self.used.fill(0.0);
        for Reverse((end, _, user)) in &self.busy {
            self.used[*user] += seconds(self.now, *end);
        }
    }

    /// The result since the last [`Self::clear`].
    pub fn got(&self) -> Got {
        let mut used = self.used.clone();
        for Reverse((end, _, user)) in &self.busy {
            used[*user] -= seconds(self.now, *end);
        }
        let all: f64 = used.iter().sum();
        let achieved: Vec<f64> = used.into_iter().map(|used| used / all).collect();
        let entitled = self.scene.cast.entitled(self.scene.order);
        let is_served = |user: &usize| self.scene.is_served(entitled[*user]);
        let served: Vec<usize> = (0..achieved.len()).filter(is_served).collect();
        let of = |figures: &[f64]| served.iter().map(|user| figures[*user]).collect::<Vec<_>>();
        let by_domain = |figures: &[f64]| self.scene.cast.by_domain(figures);
        Got {
            users: misallocated(&of(&achieved), &of(&entitled)),
            domains: misallocated(&by_domain(&achieved), &by_domain(&entitled)),
            left_out: achieved.len() - served.len(),
            achieved,
            entitled,
        }
    }

    /// Two numbers for each user: its recorded usage together with the unrecorded and the expected usage of its
    /// kernels, and the cost of its next job. Both are parts of the window's capacity.
    pub fn accounts(&self) -> Vec<(f64, f64)> {
        let members: Vec<Member> = (0..self.scene.cast.users).map(|user| self.scene.cast.member(user)).collect();
        let domain_assignments = DomainByProject::default();
        let accounts = GroupAccounts::new(&self.group, &domain_assignments, &members, self.now);
        let told = |user: usize| self.scene.told.get(&user).copied();
        let charge = |user: usize| accounts.charge(user, Some(&self.one), told(user)).to_f64();
        (0..members.len()).map(|user| (accounts.user(members[user]).used(), charge(user))).collect()
    }
}

/// The duration of the measurement for jobs of less than a minute, in hours.
const HOURS_OF_SHORT_JOBS: i64 = 2;

/// The result of one look-back period after another one for warming up. With jobs of less than a minute both take
/// [`HOURS_OF_SHORT_JOBS`].
pub fn delivered(scene: Scene) -> Got {
    let window = match scene.lengths {
        Lengths::All(..60) => HOURS_OF_SHORT_JOBS * 3_600,
        _ => i64::from(scene.lookback_days) * SECONDS_PER_DAY,
    };
    let mut running = Loop::new(scene);
    running.for_seconds(window);
    running.clear();
    running.for_seconds(window);
    running.got()
}

fn interval(policy: &ReplayPolicy) -> i64 {
    i64::from(policy.options.slice_interval_seconds) * MICROS_PER_SECOND
}

fn seconds(from: Timestamp, until: Timestamp) -> f64 {
    (until.micros() - from.micros()) as f64 / MICROS_PER_SECOND as f64
}
