//! Compares two snapshots of a group and finds the owners that a change concerns.

use std::cmp::Ordering;
use std::ops::Deref;
use std::sync::Arc;

use super::answer::{
    ChangedDomain, ChangedDomains, ChangedProject, ChangedProjects, ChangedUser, ChangedUsers, FairnessChange,
    OwnerFigures, RankMover, SimulatedFairShares,
};
use super::orders::{compare_orders, pending_moves};
use super::request::FairShareSimulation;
use crate::domain::decimal::f64_text;
use crate::domain::parallel;
use crate::domain::ranking::{PlacedRow, RankedRow};
use crate::engine::group::calculate::ClockMoment;
use crate::engine::group::live_kernels::LiveKernelList;
use crate::engine::group::snapshots::profile::GroupProfile;
use crate::engine::group::snapshots::rows::{DomainShare, ProjectShare, TierRow, UserShare};
use crate::service::fairness::report::KnownFairness;
use crate::service::visible_group::VisibleGroup;
use crate::service::{Result, Service};

/// The largest number of winners and of losers in an answer.
const MAX_MOVERS: usize = 10;

/// The shown rows of one snapshot, with their ranks. Users are many, so their rows are borrowed instead of shared.
struct ShownRows<'a, P> {
    rows: Vec<(u32, P)>,
    group: &'a VisibleGroup,
}

impl<'a, P: Deref<Target: TierRow>> ShownRows<'a, P> {
    fn of(group: &'a VisibleGroup, rows: impl Iterator<Item = (u32, P)>) -> Self {
        let mut rows: Vec<_> = rows.filter(|(_, row)| row.is_shown()).collect();
        // The keys are kept side by side, because rows are scattered over the memory.
        rows.sort_by_cached_key(|(_, row)| row.id().clone());
        Self { rows, group }
    }
}

/// A row in both snapshots. One side may be missing, but not both.
struct RowPair<P> {
    before: Option<(u32, P)>,
    after: Option<(u32, P)>,
}

impl<P: Deref<Target: TierRow>> RowPair<P> {
    fn ranks(&self) -> Option<(u32, u32)> {
        Some((self.before.as_ref()?.0, self.after.as_ref()?.0))
    }

    /// True if both sides show the same.
    fn is_same(&self, before: &GroupProfile, after: &GroupProfile) -> bool {
        let shown = |side: &Option<(u32, P)>, profile: &GroupProfile| {
            let (rank, row) = side.as_ref()?;
            let share = row.share();
            let numbers = [share.fair_share_factor, share.history.normalized_usage].map(f64::to_bits);
            Some((*rank, profile.weight(share), share.effective_weight, numbers, row.domain().cloned()))
        };
        shown(&self.before, before) == shown(&self.after, after)
    }

    /// The number of ranks that the row moves. A row that appears or disappears counts as the largest movement.
    fn distance(&self) -> u32 {
        self.ranks().map_or(u32::MAX, |(before, after)| before.abs_diff(after))
    }

    /// The row after the change, or before it if it disappears.
    fn side(&self) -> Option<(u32, &P::Target)> {
        self.after.as_ref().or(self.before.as_ref()).map(|(rank, row)| (*rank, &**row))
    }

    /// The largest movement first.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_place = || {
            let (one, other) = (self.side(), other.side());
            let ranks = one.map(|(rank, _)| rank).cmp(&other.map(|(rank, _)| rank));
            ranks.then_with(|| one.map(|(_, row)| row.id()).cmp(&other.map(|(_, row)| row.id())))
        };
        other.distance().cmp(&self.distance()).then_with(by_place)
    }
}

/// The first `count` of the pairs. An answer shows few of many, so the others are not sorted.
fn first<P: Deref<Target: TierRow>>(mut pairs: Vec<&RowPair<P>>, count: usize) -> Vec<&RowPair<P>> {
    if count < pairs.len() {
        pairs.select_nth_unstable_by(count, |a, b| a.cmp(b));
        pairs.truncate(count);
    }
    pairs.sort_unstable_by(|a, b| a.cmp(b));
    pairs
}

/// The changes in one tier.
struct TierChanges<'a, P> {
    pairs: Vec<RowPair<P>>,
    groups: [&'a VisibleGroup; 2],
}

impl<'a, P: Deref<Target: TierRow>> TierChanges<'a, P> {
    fn of([before, after]: [ShownRows<'a, P>; 2]) -> Self {
        let groups = [before.group, after.group];
        let mut pairs = side_by_side(before.rows, after.rows);
        pairs.retain(|pair| !pair.is_same(groups[0], groups[1]));
        Self { pairs, groups }
    }

    fn count(&self, so: fn(u32, u32) -> bool) -> u64 {
        self.pairs.iter().filter_map(RowPair::ranks).filter(|(before, after)| so(*before, *after)).count() as u64
    }

    /// The rows with the largest movements, with their figures, as `show` formats them.
    fn items<T>(
        &self,
        limit: usize,
        show: impl Fn(&P::Target, Option<OwnerFigures>, Option<OwnerFigures>) -> T,
    ) -> Vec<T> {
        let figures = |side: &Option<(u32, P)>, group| {
            let (rank, row) = side.as_ref()?;
            Some(OwnerFigures::of(group, &row.owner(), row.share(), row.domain().cloned(), *rank))
        };
        let shown = first(self.pairs.iter().collect(), limit).into_iter().filter_map(|pair| {
            let (_, row) = pair.side()?;
            let [before, after] = self.groups;
            Some(show(row, figures(&pair.before, before), figures(&pair.after, after)))
        });
        shown.collect()
    }
}

/// The rows of both sides, which ascend by id, as pairs.
fn side_by_side<P: Deref<Target: TierRow>>(before: Vec<(u32, P)>, after: Vec<(u32, P)>) -> Vec<RowPair<P>> {
    let (mut before, mut after) = (before.into_iter().peekable(), after.into_iter().peekable());
    let next = || {
        let order = match (before.peek(), after.peek()) {
            (Some((_, old)), Some((_, new))) => old.id().cmp(new.id()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return None,
        };
        let before = if order.is_le() { before.next() } else { None };
        Some(RowPair { before, after: if order.is_ge() { after.next() } else { None } })
    };
    std::iter::from_fn(next).collect()
}

fn is_rise(before: u32, after: u32) -> bool {
    after < before
}

fn is_fall(before: u32, after: u32) -> bool {
    after > before
}

impl TierChanges<'_, &UserShare> {
    /// The users with the largest movements among those for which `so` is true.
    fn movers(&self, so: fn(u32, u32) -> bool) -> Vec<RankMover> {
        let moves = self.pairs.iter().filter(|pair| pair.ranks().is_some_and(|(before, after)| so(before, after)));
        let movers = first(moves.collect(), MAX_MOVERS).into_iter().filter_map(|pair| {
            let (rank_before, rank_after) = pair.ranks()?;
            let (_, row) = pair.after.as_ref()?;
            Some(RankMover {
                user_uuid: row.member.user.0,
                user_name: row.user_name.clone(),
                project_id: row.member.project.0,
                project_name: row.project_name.clone(),
                rank_before,
                rank_after,
            })
        });
        movers.collect()
    }
}

macro_rules! listed {
    ($list:ident, $tier:expr, $limit:expr, $show:expr) => {{
        let tier = &$tier;
        let (changed, risen, fallen) = (tier.pairs.len() as u64, tier.count(is_rise), tier.count(is_fall));
        $list { changed, risen, fallen, items: tier.items($limit, $show) }
    }};
}

/// A snapshot, with the parts that take long to compute.
pub struct SnapshotSide<'a> {
    group: &'a VisibleGroup,
    users: ShownRows<'a, &'a UserShare>,
    fairness: Vec<KnownFairness>,
}

impl<'a> SnapshotSide<'a> {
    pub fn of(service: &Service, group: &'a VisibleGroup, moment: ClockMoment) -> Self {
        let ranked = || group.facts().rows.users.ranked().map(|(rank, row)| (rank, &**row));
        let fairness = || service.known_fairness(group, moment.trusted_time);
        let (fairness, users) = parallel::join_both(fairness, || ShownRows::of(group, ranked()));
        Self { group, users, fairness }
    }
}

/// The differences of two snapshots, and the order of the request's workloads in both.
pub fn compare(
    service: &Service,
    sides: [SnapshotSide; 2],
    asked: &FairShareSimulation<'_>,
    kernels: &LiveKernelList,
    moment: ClockMoment,
) -> Result<SimulatedFairShares> {
    let limit = asked.limit.map_or(usize::MAX, |limit| limit.get() as usize);
    let [before, after] = sides.each_ref().map(|side| side.group);
    let fairness = fairness(&sides);
    let users = TierChanges::of(sides.map(|side| side.users));
    Ok(SimulatedFairShares {
        config_revision: before.config_revision.to_string(),
        calculated_at: before.calculated_at(),
        applied: None,
        domains: listed!(ChangedDomains, domains(before, after), limit, |row: &DomainShare, before, after| {
            ChangedDomain { domain_name: Arc::clone(&row.domain_name), before, after }
        }),
        projects: listed!(ChangedProjects, projects(before, after), limit, |row: &ProjectShare, before, after| {
            ChangedProject { project_id: row.project_id.0, project_name: row.project_name.clone(), before, after }
        }),
        winners: users.movers(is_rise),
        losers: users.movers(is_fall),
        users: listed!(ChangedUsers, users, limit, |row: &UserShare, before, after| ChangedUser {
            user_uuid: row.member.user.0,
            user_name: row.user_name.clone(),
            project_id: row.member.project.0,
            project_name: row.project_name.clone(),
            before,
            after,
        }),
        fairness,
        workloads: compare_orders(service, [before, after], asked, moment)?,
        pending: pending_moves(service, [before, after], kernels, moment)?,
        warnings: after.warnings(),
    })
}

fn fairness([before, after]: &[SnapshotSide; 2]) -> Vec<FairnessChange> {
    let known = before.fairness.iter().filter_map(|before| {
        let after = after.fairness.iter().find(|after| after.days == before.days && after.tier == before.tier)?;
        Some(FairnessChange {
            tier: before.tier.as_str(),
            window_days: before.days,
            misallocated_share_before: f64_text(before.misallocated_share),
            misallocated_share_after: f64_text(after.misallocated_share),
            jains_index_before: f64_text(before.jains_index),
            jains_index_after: f64_text(after.jains_index),
        })
    });
    known.collect()
}

fn domains<'a>(before: &'a VisibleGroup, after: &'a VisibleGroup) -> TierChanges<'a, Arc<DomainShare>> {
    let shown =
        |group: &'a VisibleGroup| ShownRows::of(group, group.facts().rows.domains.placed().map(PlacedRow::into_parts));
    TierChanges::of([before, after].map(shown))
}

fn projects<'a>(before: &'a VisibleGroup, after: &'a VisibleGroup) -> TierChanges<'a, Arc<ProjectShare>> {
    let shown =
        |group: &'a VisibleGroup| ShownRows::of(group, group.facts().rows.placed_projects().map(PlacedRow::into_parts));
    TierChanges::of([before, after].map(shown))
}
