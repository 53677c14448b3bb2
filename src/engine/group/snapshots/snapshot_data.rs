//! The immutable data of a snapshot: its profile, its rows, its queues, and the demand of kernels.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use tokio::sync::OnceCell;

use super::comparison::ComparisonSet;
use super::normalized_days::NormalizedDaysCache;
use super::profile::GroupProfile;
use super::rows::{ProjectShare, RankedRows, UserShare};
use super::tree_shares::TreeShares;
use crate::domain::decimal::Amount;
use crate::domain::division::ObservedQueues;
use crate::domain::factor::{Exponent, HistoryDecayer};
use crate::domain::fairness::PendingCounts;
use crate::domain::ids::{Member, Owner, ProjectId, UserId};
use crate::domain::options::FairshareOrder;
use crate::domain::outstanding::OutstandingKernels;
use crate::domain::queues::{DEFAULT_QUEUE, MAX_WEIGHT, ProjectNames, QueueClaim, QueueConfigs, QueueDemand, queue_of};
use crate::domain::run_times::{CacheGeneration, RunTimes};
use crate::domain::sequencer::ShareLookup;
use crate::domain::slots::{ScaledSum, SlotAmounts, SlotUsages};
use crate::domain::time::MICROS_PER_DAY;
use crate::domain::weight::Weight;
use crate::engine::group::revision::ConfigRevision;
use crate::engine::group::state::{GroupState, LastCalculation, UserOccupancy};
use crate::store::agents::StoredAgent;
use crate::store::groups::GroupRevisions;

/// One weight that an admin has set.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightRow {
    pub target: Owner,
    /// `None` in the answer to a write that unset it.
    pub weight: Option<Weight>,
}

/// The data of one resource group as of one revision.
#[derive(Clone, Debug)]
pub struct GroupSnapshotData {
    profile: GroupProfile,
    pub rows: Arc<RankedRows>,
    /// The agents by id.
    pub agents: Arc<[StoredAgent]>,
    /// As configured by admins.
    pub queues: Arc<QueueConfigs>,
    /// The amounts that running and pending kernels hold and ask for.
    pub demand: Arc<QueueDemand>,
    /// The slots that each user's running kernels occupy.
    occupancy: UserOccupancy,
    /// The usage that no run has recorded yet, and the usage that running kernels are expected to add.
    pub outstanding: OutstandingKernels,
    /// The owners of pending kernels.
    pub(super) asking: PendingCounts,
    /// A counter. Snapshots with the same shares and the same counter have the same active users.
    pub(super) active_changes: u64,
    /// The run times of all kernels that ended in the look-back window.
    pub run_times: RunTimes,
    /// The generation of the cached expectations about kernels; other shares or options start a new one.
    pub(super) expectations: CacheGeneration,
    /// The capacity of the day of the last calculation.
    pub today: Arc<SlotAmounts>,
    /// The capacity of the look-back window, decayed like usage; empty where no history gain reads it.
    pub(super) decayed_capacity: SlotUsages,
    /// The place of all owners' normalised days; set by a run, or read when an explanation first needs them.
    pub(crate) normalized_days: Arc<OnceCell<NormalizedDaysCache>>,
    /// All users, as explanations compare them.
    contest: Arc<OnceLock<Arc<ComparisonSet<UserShare>>>>,
    /// The tree that the sequencer compares, if it has a rule of its own.
    tree_shares: Arc<OnceLock<Option<TreeShares>>>,
}

impl Deref for GroupSnapshotData {
    type Target = GroupProfile;

    fn deref(&self) -> &GroupProfile {
        &self.profile
    }
}

impl GroupSnapshotData {
    pub(super) fn of(state: &GroupState, rows: RankedRows) -> Self {
        Self {
            profile: GroupProfile::of(state),
            rows: Arc::new(rows),
            agents: Arc::clone(&state.agents),
            queues: Arc::clone(&state.queues),
            demand: Arc::clone(&state.demand),
            occupancy: state.occupancy.clone(),
            outstanding: state.outstanding.clone(),
            asking: state.asking.clone(),
            active_changes: state.active_changes,
            run_times: state.hierarchy.run_times(),
            expectations: CacheGeneration::default(),
            today: today(state),
            decayed_capacity: decayed_capacity(state),
            normalized_days: Arc::new(OnceCell::new_with(
                state.has_normalized_days.then_some(NormalizedDaysCache::Histories),
            )),
            contest: Arc::default(),
            tree_shares: Arc::default(),
        }
    }

    /// Takes the normalised days over from the snapshot before, if both have the same calculation and this one has none yet.
    pub(super) fn take_normalized_days_of(&mut self, before: &Self) {
        if self.normalized_days.get().is_none() && self.calculation == before.calculation {
            self.normalized_days = Arc::clone(&before.normalized_days);
        }
    }

    /// The normalised days with the conditions of their calculation, once both are known.
    pub fn calculated_normalized_days(&self) -> Option<(&NormalizedDaysCache, &LastCalculation)> {
        self.normalized_days.get().zip(self.calculation.as_ref())
    }

    /// All users, as explanations compare them; built for the first request.
    pub(crate) fn contest(&self, normalized_days: &NormalizedDaysCache) -> Arc<ComparisonSet<UserShare>> {
        let made = self
            .contest
            .get_or_init(|| Arc::new(ComparisonSet::users(&self.rows, self.compared_order(), normalized_days)));
        Arc::clone(made)
    }

    /// The tiers by which users are compared. A rule of a sequencer has compared them already, so that only the keys of the
    /// users count.
    pub fn compared_order(&self) -> FairshareOrder {
        if self.scheduler.share_rule().is_some() { FairshareOrder::Flat } else { self.options.order }
    }

    /// The tree that the sequencer compares, with the shares that follow from it; built for the first request. `None` if the
    /// sequencer has no rule of its own.
    pub fn tree_shares(&self) -> Option<&TreeShares> {
        let build = || Some(TreeShares::of(self.scheduler.share_rule()?, &self.rows, self.options.default_weight));
        self.tree_shares.get_or_init(build).as_ref()
    }

    /// The same data with new queues, demand, occupancy and outstanding usage. Run times stay: they change only with shares,
    /// and then all data is built again.
    pub(super) fn with_queues(&self, state: &GroupState) -> Self {
        let mut next = self.clone();
        next.profile.kernels_revision = state.group.kernels_revision;
        next.profile.backfilled_at = state.group.backfilled_at;
        next.profile.config_revision = ConfigRevision::of(&state.group);
        next.agents = Arc::clone(&state.agents);
        next.queues = Arc::clone(&state.queues);
        next.demand = Arc::clone(&state.demand);
        next.occupancy = state.occupancy.clone();
        next.outstanding = state.outstanding.clone();
        next.asking = state.asking.clone();
        next.active_changes = state.active_changes;
        next.today = today(state);
        next
    }

    pub fn profile(&self) -> &GroupProfile {
        &self.profile
    }

    pub fn revisions(&self) -> GroupRevisions {
        GroupRevisions { created_at: self.created_at, shares: self.revision, kernels: self.kernels_revision }
    }

    /// The slots that running kernels occupy, as the usage of one second; in no order.
    pub fn occupancy(&self) -> impl Iterator<Item = (UserId, &SlotUsages)> {
        self.occupancy.iter().filter(|(_, occupied)| !occupied.is_zero()).map(|(user, occupied)| (*user, occupied))
    }

    /// Every weight that is set: domains, then projects, then users, each by id.
    pub fn weights(&self) -> Vec<WeightRow> {
        let rows = &self.rows;
        let domains = rows.domains.iter().map(|d| (Owner::Domain(Arc::clone(&d.domain_name)), &d.share));
        let projects = rows.projects().map(|p| (Owner::Project(p.project_id), &p.share));
        let users = rows.users.iter().map(|u| (Owner::User(u.member), &u.share));
        let all = domains.chain(projects).chain(users);
        let mut set: Vec<WeightRow> = all
            .filter(|(_, share)| share.weight.is_some())
            .map(|(target, share)| WeightRow { target, weight: share.weight })
            .collect();
        set.sort_unstable_by(|a, b| a.target.cmp(&b.target));
        set
    }

    /// The weight of a row that the group has, set or not.
    pub fn weight_row(&self, target: Owner) -> Option<WeightRow> {
        let share = match &target {
            Owner::Domain(name) => &self.rows.domain(name)?.share,
            Owner::Project(id) => &self.rows.project(*id)?.share,
            Owner::User(member) => &self.rows.user(*member)?.share,
        };
        Some(WeightRow { weight: share.weight, target })
    }

    /// True if workloads may name the queue.
    pub fn has_queue(&self, name: &str) -> bool {
        self.queues.contains_key(name) || name == DEFAULT_QUEUE
    }

    /// The queue that a kernel or workload counts for (DIVISION §1).
    pub fn queue_of(&self, named: Option<&str>, project: ProjectId) -> &str {
        queue_of(&self.queues, named, project, || {
            self.rows.project(project).map_or_else(ProjectNames::default, |share| ProjectNames {
                display_name: share.project_name.as_deref(),
                domain: Some(&share.domain_name),
            })
        })
    }

    /// The amounts that kernels hold and ask for, and the usage of projects, by queue.
    pub(super) fn observed<'a>(&'a self, demand: &'a QueueDemand) -> ObservedQueues<'a> {
        let of = |claim: &QueueClaim| self.queue_of(claim.queue.as_deref(), claim.project);
        ObservedQueues { held: demand.iter().map(|(claim, held)| (of(claim), held)).collect(), usage: self.usage() }
    }

    /// The decayed usage of the projects by queue, as parts of the equally decayed capacity; empty unless a history gain
    /// reads it.
    fn usage(&self) -> Vec<(&str, SlotAmounts)> {
        if self.decayed_capacity.is_empty() {
            return Vec::new();
        }
        let part = |share: &ProjectShare| {
            let used = share.share.history.total_decayed_usage.iter();
            let parts = used.filter_map(|(slot, used)| {
                let offered = self.decayed_capacity.get(slot).filter(|c| !c.is_zero())?;
                Some((slot, Amount::from_f64(used.to_f64() / offered.to_f64()).min(MAX_WEIGHT)))
            });
            parts.collect()
        };
        self.rows.projects().map(|share| (self.queue_of(None, share.project_id), part(share))).collect()
    }
}

impl ShareLookup for GroupSnapshotData {
    fn exponent(&self, member: Member) -> Exponent {
        self.rows.user(member).map_or(Exponent::ZERO, |row| row.share.exponent)
    }

    fn outer_exponents(&self, project: ProjectId) -> (Exponent, Exponent) {
        let Some(project) = self.rows.project(project) else { return (Exponent::ZERO, Exponent::ZERO) };
        let domain = self.rows.domain(&project.domain_name);
        (domain.map_or(Exponent::ZERO, |row| row.share.exponent), project.share.exponent)
    }

    fn dominant_share(&self, user: UserId) -> f64 {
        self.occupancy.get(&user).map_or(0.0, |occupied| occupied.dominant_part(&self.capacity))
    }

    fn dominant_share_with(&self, user: UserId, more: &SlotUsages) -> f64 {
        let Some(occupied) = self.occupancy.get(&user) else { return more.dominant_part(&self.capacity) };
        let mut sum = occupied.clone();
        sum.add(more);
        sum.dominant_part(&self.capacity)
    }

    fn order(&self) -> FairshareOrder {
        self.options.order
    }
}

fn today(state: &GroupState) -> Arc<SlotAmounts> {
    let day = state.calculation.as_ref().map(|calculation| calculation.lookback_end);
    let known = day.and_then(|day| state.ledger.calendar().get(day));
    known.map_or_else(|| Arc::new(state.capacity.clone()), |day| Arc::clone(&day.capacity))
}

/// The capacity of the look-back window, each day decayed like its usage (FAIR_SHARE §6).
fn decayed_capacity(state: &GroupState) -> SlotUsages {
    let Some(calculation) = state.calculation.as_ref().filter(|_| state.options.division.options.reads_usage()) else {
        return SlotUsages::default();
    };
    let mut sum = ScaledSum::default();
    let decayer = HistoryDecayer::new(&state.options, calculation.lookback_end);
    for age in 0..state.options.lookback_days {
        let day = calculation.lookback_end.back(age);
        let capacity = state.ledger.calendar().get(day).map_or(&state.capacity, |known| &*known.capacity);
        let weight = decayer.weight(day).unwrap_or(0.0);
        sum.add(&capacity.for_micros(MICROS_PER_DAY.unsigned_abs()), weight);
    }
    sum.rounded()
}
