//! The decisions of a policy about victims. The search knows no rule itself; it asks the policy.

pub mod plugins;
pub mod preemption;
pub mod strategies;
pub mod tiers;

use std::borrow::Cow;
use std::cmp::Ordering;

use super::holdings::QueueHoldings;
use super::outcome::{EvictionRefusal, ReclaimRule};
use super::snapshot::{EvictionUnit, ReclaimSnapshot};
use crate::decimal::Amount;
use crate::division::report::order::QueueOrderKey;
use crate::division::{Fraction, QueueAllocation};

/// The reason why a unit may be evicted.
#[derive(Clone, Debug)]
pub struct EvictionReason {
    pub rule: Cow<'static, str>,
    pub level: usize,
    pub column: Option<usize>,
}

/// The reason why a unit may not be evicted.
#[derive(Clone, Copy, Debug)]
pub struct EvictionDenial {
    pub rule: ReclaimRule,
    pub level: usize,
    pub column: Option<usize>,
    pub ours: Option<Fraction>,
    pub theirs: Option<Fraction>,
}

impl EvictionDenial {
    pub fn plain(rule: ReclaimRule, level: usize) -> Self {
        Self { rule, level, column: None, ours: None, theirs: None }
    }

    /// A denial that depends on the figures of the reclaimer alone.
    pub fn ours(rule: ReclaimRule, level: usize, column: usize, ratio: Fraction) -> Self {
        Self { rule, level, column: Some(column), ours: Some(ratio), theirs: None }
    }

    /// The printed form. `ours` is rounded up and `theirs` down, so that the printed figures forbid what the exact ones
    /// forbid.
    pub fn shown(&self, snapshot: &ReclaimSnapshot, job: Option<usize>) -> EvictionRefusal {
        let name = |queue: usize| snapshot.tree.queues[queue].name.clone();
        EvictionRefusal {
            workload_id: job.map(|j| snapshot.running[j].workload_id.clone()),
            queue: name(job.map_or(snapshot.queue(), |j| snapshot.jobs[j].queue)),
            rule: self.rule,
            level: Some(name(self.level)),
            slot: self.column.map(|c| snapshot.tree.slots[c].as_str()),
            reclaimer_ratio: self.ours.map(|r| ratio_text(r, true)),
            victim_ratio: self.theirs.map(|r| ratio_text(r, false)),
        }
    }
}

fn ratio_text(ratio: Fraction, up: bool) -> String {
    let Some(rounded) = ratio.to_amount() else { return ratio.to_string() };
    let order = Fraction::plain(rounded).cmp(&ratio);
    let units = match (order, up) {
        (Ordering::Less, true) => rounded.units().saturating_add(1),
        (Ordering::Greater, false) => rounded.units().saturating_sub(1),
        _ => rounded.units(),
    };
    Amount::from_units(units).to_string()
}

/// A policy: the rules for which workloads may be evicted, and in which order.
pub trait EvictionPolicy {
    /// Checks that the pending workload may take anything from others.
    fn gate(&self, holdings: &QueueHoldings) -> Result<(), EvictionDenial>;

    /// True if the core of a gang is evicted as a whole. Otherwise members are evicted one by one, and a plug-in has to
    /// protect gangs.
    fn keeps_gangs_whole(&self) -> bool {
        true
    }

    /// Asked before a unit is subtracted from its queue. A denial stays valid while more victims are added.
    fn before(&self, holdings: &QueueHoldings, unit: &EvictionUnit) -> Result<EvictionReason, EvictionDenial>;

    /// True if the answer of `before` depends on the unit's queue only.
    fn decides_by_queue(&self) -> bool {
        true
    }

    /// Asked when a unit was subtracted, and again for the whole plan.
    fn after(&self, holdings: &QueueHoldings, queue: usize) -> Result<(), EvictionDenial>;

    /// True if `after` will deny the plan whatever else is evicted. `least` is the amount that the reclaimer's side
    /// holds with the request after all candidates inside of it are evicted.
    fn is_hopeless(&self, _: &QueueHoldings, _queue: usize, _least: &[Amount]) -> bool {
        false
    }

    /// The most of a slot, in units of 10^-12, that may be freed by evicting these units of one side; `None` if nothing
    /// limits them together.
    fn ceiling(&self, _: &QueueHoldings, _units: &[&EvictionUnit], _least: &[Amount], _column: usize) -> Option<u128> {
        None
    }

    /// The order of siblings: the lower one is served first, and loses last.
    fn compare_queues(&self, a: (&QueueAllocation, &QueueOrderKey), b: (&QueueAllocation, &QueueOrderKey)) -> Ordering;

    /// The order of the workloads of a queue: the lower one is served first, and loses last.
    fn compare_jobs(&self, snapshot: &ReclaimSnapshot, a: usize, b: usize) -> Ordering;
}

/// Compares by age, older first, then by id.
pub fn by_age(snapshot: &ReclaimSnapshot, a: usize, b: usize) -> Ordering {
    let (a, b) = (&snapshot.running[a], &snapshot.running[b]);
    a.created_at.cmp(&b.created_at).then_with(|| a.workload_id.cmp(&b.workload_id))
}

/// Compares by priority, highest first, then by age.
pub fn by_priority(snapshot: &ReclaimSnapshot, a: usize, b: usize) -> Ordering {
    snapshot.running[b].priority.cmp(&snapshot.running[a].priority).then_with(|| by_age(snapshot, a, b))
}
