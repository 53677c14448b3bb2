//! What a policy decides about victims; the search asks and knows no rule itself.

pub mod plugins;
pub mod preemption;
pub mod strategies;
pub mod tiers;

use std::borrow::Cow;
use std::cmp::Ordering;

use super::holdings::Holdings;
use super::outcome::{Refusal, Rule};
use super::snapshot::{Snapshot, Unit};
use crate::decimal::Amount;
use crate::division::report::order::Key;
use crate::division::{Fraction, Position};

/// Why a unit may be taken.
#[derive(Clone, Debug)]
pub struct Allowed {
    pub rule: Cow<'static, str>,
    pub level: usize,
    pub column: Option<usize>,
}

/// Why it may not.
#[derive(Clone, Copy, Debug)]
pub struct Denied {
    pub rule: Rule,
    pub level: usize,
    pub column: Option<usize>,
    pub ours: Option<Fraction>,
    pub theirs: Option<Fraction>,
}

impl Denied {
    pub fn plain(rule: Rule, level: usize) -> Self {
        Self { rule, level, column: None, ours: None, theirs: None }
    }

    /// The reclaimer's figures alone forbid.
    pub fn ours(rule: Rule, level: usize, column: usize, ratio: Fraction) -> Self {
        Self { rule, level, column: Some(column), ours: Some(ratio), theirs: None }
    }

    /// Ours is printed rounded up and theirs down, so that what is forbidden stays so on the printed figures.
    pub fn shown(&self, snapshot: &Snapshot, job: Option<usize>) -> Refusal {
        let name = |queue: usize| snapshot.tree.queues[queue].name.clone();
        Refusal {
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

/// How one policy decides which workloads go, and in which order.
pub trait Policy {
    /// Whether the pending workload may take from others at all.
    fn gate(&self, holdings: &Holdings) -> Result<(), Denied>;

    /// Whether gangs go as a whole; else members go one by one and a plug-in guards gangs.
    fn keeps_gangs_whole(&self) -> bool {
        true
    }

    /// Asked before the unit of a queue is subtracted; what is forbidden now stays so while victims are added.
    fn before(&self, holdings: &Holdings, unit: &Unit) -> Result<Allowed, Denied>;

    /// Whether `before` looks at the unit's queue only.
    fn decides_by_queue(&self) -> bool {
        true
    }

    /// Asked when it is subtracted, and again for the plan as a whole.
    fn after(&self, holdings: &Holdings, queue: usize) -> Result<(), Denied>;

    /// Whether `after` will forbid whatever else goes; `least` is what the reclaimer's side holds with the request once all
    /// that may go inside it has gone.
    fn is_hopeless(&self, _: &Holdings, _queue: usize, _least: &[Amount]) -> bool {
        false
    }

    /// At most so much of a slot may go of these units of one side; `None`: nothing bounds them together.
    fn ceiling(&self, _: &Holdings, _units: &[&Unit], _least: &[Amount], _column: usize) -> Option<u128> {
        None
    }

    /// Siblings; lower is served first, so loses last.
    fn compare_queues(&self, a: (&Position, &Key), b: (&Position, &Key)) -> Ordering;

    /// Workloads of a queue; lower is served first.
    fn compare_jobs(&self, snapshot: &Snapshot, a: usize, b: usize) -> Ordering;
}

/// Older first, then by id.
pub fn by_age(snapshot: &Snapshot, a: usize, b: usize) -> Ordering {
    let (a, b) = (&snapshot.running[a], &snapshot.running[b]);
    a.created_at.cmp(&b.created_at).then_with(|| a.workload_id.cmp(&b.workload_id))
}

/// By priority, highest first, then by age.
pub fn by_priority(snapshot: &Snapshot, a: usize, b: usize) -> Ordering {
    snapshot.running[b].priority.cmp(&snapshot.running[a].priority).then_with(|| by_age(snapshot, a, b))
}
