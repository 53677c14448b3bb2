//! A resource group without a server: its ledger, its shares and its kernels are in memory, and the caller provides the
//! clock.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::policy::ReplayPolicy;
use crate::capacity::CapacityCalendar;
use crate::changes::SuspensionChanges;
use crate::factor::{DecayedHistory, Exponent, HistoryDecayer};
use crate::forecast::{OwnerOrder, OwnerShares};
use crate::hierarchy::{Hierarchy, Share};
use crate::ids::{KernelId, KernelKey, Member, Owner, ProjectId, UserId};
use crate::increments::{IncrementSums, UsageIncrements};
use crate::kernel::{KernelAdvance, KernelPhase, OpenKernel, StartedKernel};
use crate::ledger::Ledger;
use crate::maps::FastMap;
use crate::options::{FairShareOptions, FairshareOrder};
use crate::outstanding::OutstandingKernels;
use crate::run_times::{CacheGeneration, RunTimes};
use crate::sequencer::ShareLookup;
use crate::sequencer::progressive::{GroupUsage, ProgressiveSequence};
use crate::share_tree::WeighingTerms;
use crate::slice::{self, RunParameters};
use crate::slots::{SlotAmounts, SlotUsages};
use crate::time::{Day, MICROS_PER_SECOND, TimeSpan, Timestamp};
use crate::usage_dimensions::UsageDimensions;

/// The properties of a workload that starts.
#[derive(Clone, Debug)]
pub struct WorkloadStart {
    pub owner: Member,
    pub slots: SlotAmounts,
    /// The runtime that its user announced.
    pub reported_seconds: Option<u32>,
}

#[derive(Debug)]
pub struct ReplayGroup {
    options: FairShareOptions,
    terms: WeighingTerms,
    hierarchy: Hierarchy,
    ledger: Ledger,
    outstanding: OutstandingKernels,
    unsettled: BTreeMap<KernelKey, OpenKernel>,
    /// The runtimes of kernels, by the day on which they ended.
    run_times: BTreeMap<(Day, Member), RunTimes>,
    /// The cache of expected runtimes; replaced with each run.
    expectations: CacheGeneration,
    /// The exponents of the last run.
    exponents: FastMap<Member, Exponent>,
    /// The slots that each user's running kernels hold, as the usage of one second.
    occupancy: FastMap<UserId, SlotUsages>,
    capacity: SlotAmounts,
    /// The capacity of the day of the last run.
    today: Arc<SlotAmounts>,
    observed_until: Timestamp,
    /// The day of the last run.
    day: Day,
    kernels_made: i64,
    /// True if the order of the policy counts unrecorded usage.
    counts_outstanding: bool,
}

impl ReplayGroup {
    pub fn new(policy: &ReplayPolicy, capacity: SlotAmounts, now: Timestamp) -> Self {
        let mut group = Self {
            options: policy.options.clone(),
            terms: policy.weighing_terms(),
            hierarchy: Hierarchy::default(),
            ledger: Ledger::new(CapacityCalendar::default(), Day::MIN),
            outstanding: OutstandingKernels::default(),
            unsettled: BTreeMap::new(),
            run_times: BTreeMap::new(),
            expectations: CacheGeneration::default(),
            exponents: FastMap::default(),
            occupancy: FastMap::default(),
            today: Arc::new(capacity.clone()),
            capacity,
            observed_until: now,
            day: now.day(),
            kernels_made: 0,
            counts_outstanding: policy.progressive().is_some_and(ProgressiveSequence::compares_usage),
        };
        group.run(now);
        group
    }

    /// Adds a user in a project and its domain. Each gets its weight from the policy.
    pub fn add_owner(&mut self, member: Member, domain: &Arc<str>, policy: &ReplayPolicy) {
        let share = |owner: Owner| Share::new(policy.weights.get(&owner).copied(), DecayedHistory::default());
        if !self.hierarchy.domains().contains_key(domain) {
            self.hierarchy.put_domain(domain, share(Owner::Domain(Arc::clone(domain))));
        }
        if self.hierarchy.projects().contains_key(&member.project) {
            self.hierarchy.move_project(member.project, domain);
        } else {
            self.hierarchy.put_project(member.project, domain, share(Owner::Project(member.project)));
        }
        if !self.hierarchy.users().contains_key(&member) {
            self.hierarchy.put_user(member, share(Owner::User(member)));
        }
        self.weigh();
    }

    /// Sets the capacity of the group from now on.
    pub fn offer(&mut self, capacity: SlotAmounts, now: Timestamp) {
        self.observe(now);
        self.capacity = capacity;
    }

    fn observe(&mut self, now: Timestamp) {
        self.ledger.observe_capacity(TimeSpan::new(self.observed_until, now), now.day(), &self.capacity);
        self.observed_until = now;
    }

    /// Starts a workload as a kernel.
    pub fn start(&mut self, start: WorkloadStart, now: Timestamp) -> KernelKey {
        self.kernels_made += 1;
        let key = KernelKey(self.kernels_made);
        let domain = self.hierarchy.projects().get(&start.owner.project).map(|(domain, _)| Arc::clone(domain));
        let second = start.slots.for_micros(MICROS_PER_SECOND.unsigned_abs());
        self.occupancy.entry(start.owner.user).or_default().add(&second);
        let kernel = StartedKernel {
            key,
            id: KernelId(uuid::Uuid::from_u128(u128::from(self.kernels_made.unsigned_abs()))),
            owner: start.owner,
            dimensions: UsageDimensions::of_domain(domain.unwrap_or_default()),
            slots: Arc::new(start.slots),
            phase: KernelPhase::Running,
            started_at: now,
            terminated_at: None,
            changes: SuspensionChanges::default(),
            applied: None,
            expected_seconds: start.reported_seconds,
        };
        let kernel = OpenKernel { kernel: Arc::new(kernel), cursor: None, in_step: true };
        if self.counts_outstanding {
            self.outstanding.put(&kernel);
        }
        self.unsettled.insert(key, kernel);
        key
    }

    /// Ends a kernel.
    pub fn end(&mut self, key: KernelKey, now: Timestamp) {
        let Some(kernel) = self.unsettled.get_mut(&key) else { return };
        kernel.end(now);
        if self.counts_outstanding {
            self.outstanding.put(kernel);
        }
        if let Some(occupied) = self.occupancy.get_mut(&kernel.owner.user) {
            occupied.subtract(&kernel.slots.for_micros(MICROS_PER_SECOND.unsigned_abs()));
        }
    }

    /// Records usage up to now and calculates all shares that change with it (FAIR_SHARE §3 to §7).
    pub fn run(&mut self, now: Timestamp) {
        self.observe(now);
        let added = self.record(now);
        let refolded = self.ledger.apply(&added, self.options.decay_unit_days, None);
        debug_assert!(refolded.is_empty(), "days follow each other");
        self.ledger.settle_capacities();
        // A replay stores nothing, so the changes are discarded.
        self.ledger.take_changes();
        let today = now.day();
        let window = self.options.window_start(today);
        self.forget_run_times(window);
        self.expectations = CacheGeneration::default();
        self.recompute(today);
        self.ledger.forget_before(window);
        self.day = today;
        let offered = self.ledger.calendar().get(today).map(|day| Arc::clone(&day.capacity));
        self.today = offered.unwrap_or_else(|| Arc::new(self.capacity.clone()));
        self.weigh();
    }

    /// Returns the usage since each kernel's cursor and advances the cursors.
    fn record(&mut self, now: Timestamp) -> IncrementSums {
        let run = RunParameters {
            now,
            gap_policy: self.options.gap_policy,
            max_gap_hours: self.options.max_gap_hours,
            downtimes: &[],
        };
        let (mut added, mut ended) = (UsageIncrements::default(), Vec::new());
        let Self { unsettled, outstanding, counts_outstanding, .. } = self;
        unsettled.retain(|_, kernel| {
            let planned = slice::plan(kernel.started_at, kernel.terminated_at, kernel.cursor, &run);
            let recorded = planned.iter().flat_map(slice::KernelSlices::recorded);
            for span in recorded.flat_map(TimeSpan::by_day) {
                let usage = kernel.slots.for_micros(span.micros());
                added.add(kernel.owner, &kernel.dimensions, span.start.day(), &usage);
            }
            let kept_step = kernel.keeps_step();
            let has_more_steps = kernel.advance(now) != KernelAdvance::Settled;
            if has_more_steps && *counts_outstanding && !(kept_step && kernel.keeps_step()) {
                outstanding.put(kernel);
            }
            if !has_more_steps {
                outstanding.remove(kernel.key, kernel.id, kernel.owner);
                ended.extend(kernel.run_times().map(|(day, times)| (day, kernel.owner, times)));
            }
            has_more_steps
        });
        outstanding.set_recorded(now);
        for (day, owner, times) in ended {
            *self.run_times.entry((day, owner)).or_default() += times;
            self.hierarchy.add_run_times(owner, times);
        }
        added.into_sums()
    }

    /// Removes the runtimes of days before the look-back window, because they no longer count.
    fn forget_run_times(&mut self, window: Day) {
        while let Some(first) = self.run_times.first_entry().filter(|first| first.key().0 < window) {
            let ((_, owner), times) = first.remove_entry();
            self.hierarchy.add_run_times(owner, -times);
        }
    }

    fn recompute(&mut self, today: Day) {
        let Self { ledger, hierarchy, options, .. } = self;
        let decayer = HistoryDecayer::new(options, today);
        let stale = ledger.normalize(&decayer);
        if today == self.day {
            hierarchy.take_histories(stale, |owner| ledger.history(owner, &decayer));
        } else {
            hierarchy.take_all_histories(|owner| ledger.history(owner, &decayer));
        }
    }

    /// The order of owners for forecasts, which follows the shares where the policy compares them.
    pub fn owner_order(&self, policy: &ReplayPolicy, now: Timestamp) -> OwnerOrder {
        if !policy.sequencer.compares_usage() {
            return OwnerOrder::Fixed;
        }
        let owners: Vec<Member> = self.hierarchy.users().keys().copied().collect();
        let shares = OwnerShares::of_group(self, &owners, policy.progressive().is_some(), now);
        OwnerOrder::Shares(Arc::new(shares))
    }

    fn weigh(&mut self) {
        let weighed = self.hierarchy.weigh(self.terms);
        for owner in weighed.moved {
            if let Owner::User(member) = owner
                && let Some(share) = self.hierarchy.users().get(&member)
            {
                self.exponents.insert(member, share.exponent);
            }
        }
    }
}

impl GroupUsage for ReplayGroup {
    fn options(&self) -> &FairShareOptions {
        &self.options
    }

    fn today(&self) -> &SlotAmounts {
        &self.today
    }

    fn outstanding(&self) -> &OutstandingKernels {
        &self.outstanding
    }

    fn run_times(&self) -> RunTimes {
        self.hierarchy.run_times()
    }

    fn cache_generation(&self) -> &CacheGeneration {
        &self.expectations
    }

    fn user(&self, member: Member) -> Option<&Share> {
        self.hierarchy.users().get(&member)
    }

    fn project(&self, project: ProjectId) -> Option<(&Arc<str>, &Share)> {
        self.hierarchy.projects().get(&project).map(|(domain, share)| (domain, share))
    }

    fn domain(&self, name: &str) -> Option<&Share> {
        self.hierarchy.domains().get(name)
    }
}

impl ShareLookup for ReplayGroup {
    fn exponent(&self, member: Member) -> Exponent {
        self.exponents.get(&member).copied().unwrap_or(Exponent::ZERO)
    }

    fn outer_exponents(&self, project: ProjectId) -> (Exponent, Exponent) {
        let Some((domain, project)) = self.project(project) else { return (Exponent::ZERO, Exponent::ZERO) };
        (self.domain(domain).map_or(Exponent::ZERO, |share| share.exponent), project.exponent)
    }

    fn dominant_share(&self, user: UserId) -> f64 {
        self.occupancy.get(&user).map_or(0.0, |occupied| occupied.dominant_part(&self.capacity))
    }

    fn dominant_share_with(&self, user: UserId, more: &SlotUsages) -> f64 {
        let mut sum = self.occupancy.get(&user).cloned().unwrap_or_default();
        sum.add(more);
        sum.dominant_part(&self.capacity)
    }

    fn order(&self) -> FairshareOrder {
        self.options.order
    }
}
