//! KAI's two strategies, their gate and the saturation rule (DIVISION §6.2, §6.3, appendix B).

use std::cmp::Ordering;

use super::{EvictionDenial, EvictionPolicy, EvictionReason, by_priority};
use crate::decimal::Amount;
use crate::division::exact::mul_div;
use crate::division::fraction::largest_ratio;
use crate::division::report::order::{self, QueueOrderKey};
use crate::division::{Fraction, QueueAllocation, QueueTree};
use crate::queues::Bound;
use crate::reclaim::holdings::QueueHoldings;
use crate::reclaim::outcome::ReclaimRule;
use crate::reclaim::plan_options::ReclaimStrategy;
use crate::reclaim::snapshot::{ComparedQueues, EvictionUnit, ReclaimSnapshot};

pub struct StrategyPolicy<'a> {
    snapshot: &'a ReclaimSnapshot<'a>,
    multiplier: Amount,
    /// By step of the reclaimer's path: true if the queue with the request is within its quota on all slots before any
    /// victim is evicted.
    in_quota: Vec<bool>,
}

impl<'a> StrategyPolicy<'a> {
    pub fn new(snapshot: &'a ReclaimSnapshot<'a>, request: &[Amount]) -> Self {
        let in_quota = |queue: &usize| {
            is_in_quota(snapshot.tree, *queue, |c| snapshot.tree.allocated[(*queue, c)].saturating_add(request[c]))
        };
        let multiplier = snapshot.options.reclaimer_utilization_multiplier.max(Amount::whole(1));
        Self { snapshot, multiplier, in_quota: snapshot.path.iter().map(in_quota).collect() }
    }

    /// The denial if the queue could take back at once, from the reclaimer's side, a unit that was evicted from it.
    pub fn could_return(&self, holdings: &QueueHoldings, queue: usize) -> Option<EvictionDenial> {
        self.would_return(holdings, self.snapshot.pairs[queue]?, queue)
    }

    fn matches(&self, strategy: ReclaimStrategy, pair: ComparedQueues, theirs: &QueueAllocation) -> Option<usize> {
        let mut columns = 0..theirs.allocated.len();
        let held = |column: usize| Bound::Limited(theirs.allocated[column]);
        match strategy {
            ReclaimStrategy::FairShare => columns.find(|column| held(*column) > theirs.allocatable(*column)),
            ReclaimStrategy::Quota if self.in_quota[pair.step] => {
                columns.find(|column| held(*column) > self.snapshot.tree.quota[(pair.theirs, *column)])
            }
            ReclaimStrategy::Quota => None,
        }
    }

    /// The first queue, from the victim's own up to the one that is compared, that is in quota on every slot. It keeps
    /// what it has, whatever the queues above it hold.
    fn keeper(&self, holdings: &QueueHoldings, queue: usize, pair: ComparedQueues) -> Option<usize> {
        let below = self.snapshot.tree.ancestry(queue).take_while(|queue| *queue != pair.theirs);
        below.chain([pair.theirs]).find(|queue| {
            let held = |column| holdings.allocated[(*queue, column)];
            is_in_quota(self.snapshot.tree, *queue, held)
        })
    }

    /// The denial by such a queue. It names the slot that is nearest to the quota, which shows that the others are in
    /// quota too.
    fn is_kept(&self, holdings: &QueueHoldings, keeper: usize, pair: ComparedQueues) -> EvictionDenial {
        let held = holdings.position(keeper);
        let of_quota =
            |column: usize| ratio_to_bound(held.allocated[column], self.snapshot.tree.quota[(keeper, column)]);
        let (column, theirs) = largest_ratio(0..self.snapshot.width(), of_quota);
        EvictionDenial {
            column,
            ours: column.map(|column| self.of_our_quota(holdings, pair, column)),
            theirs: column.map(|_| theirs),
            ..EvictionDenial::plain(ReclaimRule::Strategy, keeper)
        }
    }

    fn of_our_quota(&self, holdings: &QueueHoldings, pair: ComparedQueues, column: usize) -> Fraction {
        let cell = (pair.ours, column);
        ratio_to_bound(
            self.snapshot.tree.allocated[cell].saturating_add(holdings.request[column]),
            self.snapshot.tree.quota[cell],
        )
    }

    /// The denial if neither strategy allows the unit. Both ratios are of the named slot: ours is held / quota; theirs
    /// is held / what the victim's side may hold, or held / quota if `fair_share` is left out. If we are above our
    /// quota, the named slot is one on which this shows, because the victim's side is within its bounds on every slot.
    fn no_strategy(&self, holdings: &QueueHoldings, pair: ComparedQueues) -> EvictionDenial {
        let (theirs, columns) = (holdings.position(pair.theirs), 0..self.snapshot.width());
        let has = |strategy| self.snapshot.options.strategies.contains(&strategy);
        let ours = |column: usize| self.of_our_quota(holdings, pair, column);
        let ratio = |column: usize| {
            let quota = self.snapshot.tree.quota[(pair.theirs, column)];
            ratio_to_bound(
                theirs.allocated[column],
                if has(ReclaimStrategy::FairShare) { theirs.allocatable(column) } else { quota },
            )
        };
        let (column, _) =
            if has(ReclaimStrategy::Quota) { largest_ratio(columns, ours) } else { largest_ratio(columns, ratio) };
        EvictionDenial {
            column,
            ours: column.map(ours),
            theirs: column.map(ratio),
            ..EvictionDenial::plain(ReclaimRule::Strategy, pair.theirs)
        }
    }

    /// True if `ratio`, that of a side, is above 1 and this side would not end below the loser, provided that the loser
    /// has a share.
    fn is_too_full(&self, ratio: Fraction, loser: Fraction, losers_share: Amount) -> bool {
        ratio > Fraction::ONE && !losers_share.is_zero() && ratio.cmp_scaled(self.multiplier, loser) != Ordering::Less
    }

    /// The saturation rule for a reclaimer's side that holds the amounts `held`.
    fn is_saturated(
        &self,
        holdings: &QueueHoldings,
        pair: ComparedQueues,
        held: impl Fn(usize) -> Amount,
    ) -> Result<(), EvictionDenial> {
        let position = holdings.position(pair.theirs);
        for column in (0..self.snapshot.width()).filter(|c| is_involved(holdings, pair, *c)) {
            let ours = Fraction::of(held(column), self.snapshot.fair_share[(pair.ours, column)]);
            let theirs = position.saturation(column);
            if self.is_too_full(ours, theirs, self.snapshot.fair_share[(pair.theirs, column)]) {
                return Err(EvictionDenial {
                    rule: ReclaimRule::Saturation,
                    level: pair.theirs,
                    column: Some(column),
                    ours: Some(ours),
                    theirs: Some(theirs),
                });
            }
        }
        Ok(())
    }

    /// The most that the victim's side may lose of a slot while it stays above the reclaimer's side, which holds at
    /// least `least`.
    fn saturation_ceiling(
        &self,
        holdings: &QueueHoldings,
        pair: ComparedQueues,
        least: Amount,
        column: usize,
    ) -> Option<u128> {
        let share = |queue: usize| self.snapshot.fair_share[(queue, column)].units();
        let (ours, theirs) = (share(pair.ours), share(pair.theirs));
        if least.units() <= ours || theirs == 0 {
            return None;
        }
        let even = mul_div(mul_div(least.units(), theirs, ours).0, self.multiplier.units(), Amount::whole(1).units()).0;
        Some(holdings.allocated[(pair.theirs, column)].units().saturating_sub(even).saturating_sub(1))
    }

    /// An upper bound of what may be freed of a slot. Before the last unit is evicted, its side is still above a bound
    /// on some slot. So on that slot less than the excess has been freed, and on the slot in question at most the
    /// amount that the unit with the largest ratio of the two slots takes along.
    fn strategy_ceiling(
        &self,
        holdings: &QueueHoldings,
        pair: ComparedQueues,
        units: &[&EvictionUnit],
        column: usize,
    ) -> Option<u128> {
        let (theirs, snapshot) = (holdings.position(pair.theirs), self.snapshot);
        let has = |strategy| snapshot.options.strategies.contains(&strategy);
        let bound = |slot: usize| {
            let by_share = has(ReclaimStrategy::FairShare).then(|| theirs.allocatable(slot));
            let by_quota = (has(ReclaimStrategy::Quota) && self.in_quota[pair.step])
                .then(|| snapshot.tree.quota[(pair.theirs, slot)]);
            by_share.into_iter().chain(by_quota).min()
        };
        let size = |unit: &&EvictionUnit, slot: usize| snapshot.size(unit, slot);
        let mut before_last = 0u128;
        for slot in 0..snapshot.width() {
            let (held, Some(Bound::Limited(bound))) = (theirs.allocated[slot], bound(slot)) else { continue };
            let Some(above) = held.units().checked_sub(bound.units()).filter(|above| *above > 0) else { continue };
            let lopsided = units.iter().map(|unit| Fraction::new(size(unit, column), size(unit, slot))).max()?;
            before_last = before_last.max(lopsided.times(above - 1)?);
        }
        let largest = units.iter().map(|unit| size(unit, column)).max()?;
        Some(before_last.saturating_add(largest))
    }

    /// Denies a plan after which the loser could reclaim something at once (no ping-pong). For each unit that was
    /// evicted from the queue, it checks whether the queue could get it back from our side in the state after the plan.
    /// In the denial, ours is held / what our side may hold, or held / quota; theirs is the queue's saturation with the
    /// returned unit.
    fn would_return(&self, holdings: &QueueHoldings, pair: ComparedQueues, queue: usize) -> Option<EvictionDenial> {
        let snapshot = self.snapshot;
        let (tree, columns) = (snapshot.tree, 0..snapshot.width());
        let ours = |column: usize| holdings.with_request(pair.ours, column);
        let has = |strategy| snapshot.options.strategies.contains(&strategy);
        let position = holdings.position(pair.ours);
        let of_share = |column: usize| ratio_to_bound(ours(column), position.allocatable(column));
        let of_quota = |column: usize| ratio_to_bound(ours(column), tree.quota[(pair.ours, column)]);
        let exceeds = |ratio: &dyn Fn(usize) -> Fraction| columns.clone().find(|c| ratio(*c) > Fraction::ONE);
        let by_share = has(ReclaimStrategy::FairShare).then(|| exceeds(&of_share)).flatten();
        let by_quota = has(ReclaimStrategy::Quota).then(|| exceeds(&of_quota)).flatten();
        let keeps = |queue: &usize| is_in_quota(tree, *queue, |column| holdings.with_request(*queue, column));
        if by_share.or(by_quota).is_none() || snapshot.path[..=pair.step].iter().any(keeps) {
            return None;
        }
        let share = |queue: usize, column: usize| snapshot.fair_share[(queue, column)];
        holdings.gone(queue).find_map(|back| {
            let with = |queue: usize, column: usize| holdings.allocated[(queue, column)].saturating_add(back[column]);
            let of_deserved = |column| Fraction::of(with(queue, column), share(queue, column));
            let in_quota = || is_in_quota(tree, pair.theirs, |column| with(pair.theirs, column));
            let by_share = by_share.map(|column| (column, of_share(column)));
            let (column, ratio) =
                by_share.or_else(|| by_quota.filter(|_| in_quota()).map(|column| (column, of_quota(column))))?;
            let (_, theirs) = largest_ratio(columns.clone(), of_deserved);
            let saturated = |c: &usize| {
                let theirs = Fraction::of(with(pair.theirs, *c), share(pair.theirs, *c));
                let ours = Fraction::of(ours(*c), share(pair.ours, *c));
                !back[*c].is_zero() && self.is_too_full(theirs, ours, share(pair.ours, *c))
            };
            (theirs <= Fraction::ONE && !columns.clone().any(|c| saturated(&c))).then(|| EvictionDenial {
                theirs: Some(theirs),
                ..EvictionDenial::ours(ReclaimRule::Saturation, pair.theirs, column, ratio)
            })
        })
    }
}

/// Held / bound; 0 if there is no bound.
fn ratio_to_bound(held: Amount, bound: Bound) -> Fraction {
    match bound {
        Bound::Limited(bound) => Fraction::of(held, bound),
        Bound::Unlimited => Fraction::ZERO,
    }
}

/// True if the queue is within its quota on every slot.
fn is_in_quota(tree: &QueueTree, queue: usize, held: impl Fn(usize) -> Amount) -> bool {
    tree.quota.row(queue).iter().enumerate().all(|(column, quota)| Bound::Limited(held(column)) <= *quota)
}

/// True for the slots that the saturation rule looks at: those that were requested or lost.
fn is_involved(holdings: &QueueHoldings, pair: ComparedQueues, column: usize) -> bool {
    !holdings.request[column].is_zero() || holdings.lost(pair.theirs, column)
}

impl EvictionPolicy for StrategyPolicy<'_> {
    fn gate(&self, holdings: &QueueHoldings) -> Result<(), EvictionDenial> {
        let queue = self.snapshot.queue();
        for (column, share) in self.snapshot.fair_share.row(queue).iter().enumerate() {
            let held = holdings.with_request(queue, column);
            if held > *share {
                return Err(EvictionDenial::ours(
                    ReclaimRule::GateFairShare,
                    queue,
                    column,
                    Fraction::of(held, *share),
                ));
            }
        }
        Ok(())
    }

    fn before(&self, holdings: &QueueHoldings, unit: &EvictionUnit) -> Result<EvictionReason, EvictionDenial> {
        let Some(pair) = self.snapshot.pairs[unit.queue] else {
            return Err(EvictionDenial::plain(ReclaimRule::Strategy, unit.queue));
        };
        if let Some(keeper) = self.keeper(holdings, unit.queue, pair) {
            return Err(self.is_kept(holdings, keeper, pair));
        }
        let theirs = holdings.position(pair.theirs);
        for (strategy, rule) in [(ReclaimStrategy::FairShare, "fair_share"), (ReclaimStrategy::Quota, "quota")] {
            if !self.snapshot.options.strategies.contains(&strategy) {
                continue;
            }
            if let Some(column) = self.matches(strategy, pair, &theirs) {
                return Ok(EvictionReason { rule: rule.into(), level: pair.theirs, column: Some(column) });
            }
        }
        Err(self.no_strategy(holdings, pair))
    }

    fn after(&self, holdings: &QueueHoldings, queue: usize) -> Result<(), EvictionDenial> {
        let Some(pair) = self.snapshot.pairs[queue] else { return Ok(()) };
        self.is_saturated(holdings, pair, |column| holdings.with_request(pair.ours, column))?;
        self.would_return(holdings, pair, queue).map_or(Ok(()), Err)
    }

    fn ceiling(
        &self,
        holdings: &QueueHoldings,
        units: &[&EvictionUnit],
        least: &[Amount],
        column: usize,
    ) -> Option<u128> {
        let pair = self.snapshot.pairs[units.first()?.queue]?;
        let saturation = self.saturation_ceiling(holdings, pair, least[column], column);
        let strategy = self.strategy_ceiling(holdings, pair, units, column);
        saturation.into_iter().chain(strategy).min()
    }

    fn is_hopeless(&self, holdings: &QueueHoldings, queue: usize, least: &[Amount]) -> bool {
        self.snapshot.pairs[queue]
            .is_some_and(|pair| self.is_saturated(holdings, pair, |column| least[column]).is_err())
    }

    fn compare_queues(&self, a: (&QueueAllocation, &QueueOrderKey), b: (&QueueAllocation, &QueueOrderKey)) -> Ordering {
        order::compare(a, b)
    }

    fn compare_jobs(&self, snapshot: &ReclaimSnapshot, a: usize, b: usize) -> Ordering {
        by_priority(snapshot, a, b)
    }
}
