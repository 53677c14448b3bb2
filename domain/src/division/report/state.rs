//! The state of a queue compared with its quota and its fair share (DIVISION §2.6, appendix A).

use crate::choices::choices;
use crate::decimal::Amount;
use crate::division::fraction::Fraction;
use crate::division::tree::QueueTree;
use crate::queues::Bound;
use crate::slots::{SlotAmounts, SlotMap};

choices! {
    /// From good to bad, so that the worst of a queue's slots is the largest.
    #[derive(PartialOrd, Ord)]
    pub enum QueueState {
        InQuota = "in_quota", "Within its quota.";
        OverQuota = "over_quota", "Over its quota.";
        OverFairShare = "over_fair_share", "Over its fair share.";
    }
}

impl QueueState {
    pub fn of(allocated: Amount, quota: Bound, fair_share: Amount) -> Self {
        if Bound::Limited(allocated) <= quota {
            Self::InQuota
        } else if allocated <= fair_share {
            Self::OverQuota
        } else {
            Self::OverFairShare
        }
    }
}

/// Allocated / fair share of a queue, for every slot of either.
pub fn saturation_ratios(allocated: &SlotAmounts, fair_share: &SlotAmounts) -> SlotMap<Fraction> {
    let amount = |amounts: &SlotAmounts, slot| amounts.get(slot).unwrap_or(Amount::ZERO);
    let slots = allocated.iter().chain(fair_share.iter()).map(|(slot, _)| slot);
    slots.map(|slot| (slot, Fraction::of(amount(allocated, slot), amount(fair_share, slot)))).collect()
}

/// The figures of one queue by slot. While a plan is made, `allocated` may differ from the tree's.
#[derive(Clone, Copy)]
pub struct QueueAllocation<'a> {
    pub tree: &'a QueueTree,
    pub queue: usize,
    pub allocated: &'a [Amount],
    pub fair_share: &'a [Amount],
}

impl QueueAllocation<'_> {
    pub fn state(&self, column: usize) -> QueueState {
        QueueState::of(self.allocated[column], self.tree.quota[(self.queue, column)], self.fair_share[column])
    }

    /// The worst state of all slots, for display. The orders look at all slots instead.
    pub fn worst_state(&self) -> QueueState {
        (0..self.allocated.len()).map(|column| self.state(column)).max().unwrap_or(QueueState::InQuota)
    }

    /// Allocated / fair share.
    pub fn saturation(&self, column: usize) -> Fraction {
        Fraction::of(self.allocated[column], self.fair_share[column])
    }

    /// True if the queue is above its fair share on every slot of which the group has capacity.
    pub fn is_over_fair_share(&self) -> bool {
        let mut over = false;
        for (column, capacity) in self.tree.capacity.iter().enumerate() {
            if !capacity.is_zero() {
                if self.allocated[column] <= self.fair_share[column] {
                    return false;
                }
                over = true;
            }
        }
        over
    }

    /// The most that the queue should hold: its limit if its quota is unlimited, otherwise the larger of quota and fair
    /// share, cut by the limit.
    pub fn allocatable(&self, column: usize) -> Bound {
        let cell = (self.queue, column);
        match self.tree.quota[cell] {
            Bound::Unlimited => self.tree.limit[cell],
            Bound::Limited(quota) => Bound::Limited(self.tree.limit[cell].cut(quota.max(self.fair_share[column]))),
        }
    }

    /// The largest ratio of `held` to [`QueueAllocation::allocatable`] over the slots (DIVISION appendix A).
    pub fn dominant_share(&self, held: impl Fn(usize) -> Amount) -> Fraction {
        let share = |column: usize| {
            let held = held(column);
            let allocatable = self.allocatable(column).unwrap_or(self.tree.capacity[column]);
            if allocatable.is_zero() {
                // KAI counts an amount of a slot that the queue should not hold at all 1000-fold.
                Fraction::new(held.units().saturating_mul(1000), Amount::whole(1).units())
            } else {
                Fraction::of(held, allocatable)
            }
        };
        (0..self.allocated.len()).map(share).max().unwrap_or(Fraction::ZERO)
    }
}
