//! Tiers of plug-ins. The answers of a tier are intersected, and the first tier that answers decides. An empty answer
//! is a veto, because it is intersected with all that follow.

use std::cmp::Ordering;

use super::plugins::{Job, Plugin, PluginDenial, Reclaimee, plugin};
use super::{Allowed, Denied, Policy, by_age};
use crate::decimal::Amount;
use crate::division::report::order::Key;
use crate::division::{Fraction, Position};
use crate::reclaim::holdings::Holdings;
use crate::reclaim::outcome::Rule;
use crate::reclaim::snapshot::{Snapshot, Unit};

pub struct Tiers<'a> {
    snapshot: &'a Snapshot<'a>,
    plugins: Vec<Vec<&'static dyn Plugin>>,
    /// The dominant share of each workload in the capacity.
    dominant_shares: Vec<Fraction>,
}

impl<'a> Tiers<'a> {
    /// Unknown names are skipped here; they are reported as faults before a plan is made.
    pub fn new(snapshot: &'a Snapshot<'a>) -> Self {
        let tiers = snapshot.options.tiers.iter();
        let plugins = tiers.map(|names| names.iter().filter_map(|name| plugin(name)).collect()).collect();
        let share = |job: &crate::reclaim::snapshot::Job| {
            let held = snapshot.held(job.members.clone());
            let part = |(held, capacity): (&Amount, &Amount)| Fraction::of(*held, *capacity);
            held.iter().zip(&snapshot.tree.capacity).map(part).max().unwrap_or(Fraction::ZERO)
        };
        Self { snapshot, plugins, dominant_shares: snapshot.jobs.iter().map(share).collect() }
    }

    fn plugins(&self) -> impl Iterator<Item = &'static dyn Plugin> + '_ {
        self.plugins.iter().flatten().copied()
    }

    fn job(&self, at: usize, running: usize) -> Job<'_> {
        Job {
            workload: &self.snapshot.running[at],
            running,
            gang_min: self.snapshot.jobs[at].core,
            dominant_share: self.dominant_shares[at],
        }
    }
}

impl Policy for Tiers<'_> {
    fn gate(&self, holdings: &Holdings) -> Result<(), Denied> {
        let queue = self.snapshot.queue();
        let position = holdings.position(queue);
        let kept = self.plugins().find_map(|plugin| plugin.gate(&position).err());
        kept.map_or(Ok(()), |PluginDenial { rule, column, ratio }| {
            Err(Denied { column, ours: ratio, ..Denied::plain(rule, queue) })
        })
    }

    fn keeps_gangs_whole(&self) -> bool {
        false
    }

    fn decides_by_queue(&self) -> bool {
        false
    }

    fn before(&self, holdings: &Holdings, unit: &Unit) -> Result<Allowed, Denied> {
        let level = unit.queue;
        let slots = self.snapshot.held(unit.members.clone());
        let reclaimee = Reclaimee {
            job: self.job(unit.job, holdings.running(unit.job)),
            queue: holdings.position(level),
            slots: &slots,
        };
        for tier in &self.plugins {
            let mut agreed = Vec::new();
            for plugin in tier {
                match plugin.reclaimable(&reclaimee) {
                    None => {}
                    Some(Ok(())) => agreed.push(plugin.name()),
                    Some(Err(kept)) => {
                        let plain = Denied::plain(kept.rule, level);
                        return Err(Denied { column: kept.column, theirs: kept.ratio, ..plain });
                    }
                }
            }
            if !agreed.is_empty() {
                return Ok(Allowed { rule: agreed.join("+").into(), level, column: None });
            }
        }
        Err(Denied::plain(Rule::Strategy, level))
    }

    fn after(&self, _: &Holdings, _: usize) -> Result<(), Denied> {
        Ok(())
    }

    fn compare_queues(&self, a: (&Position, &Key), b: (&Position, &Key)) -> Ordering {
        let decided = self.plugins().map(|p| p.queue_order(a.0, b.0)).find(|order| order.is_ne());
        decided.unwrap_or_else(|| self.snapshot.tree.by_age(a.0.queue, b.0.queue))
    }

    fn compare_jobs(&self, snapshot: &Snapshot, a: usize, b: usize) -> Ordering {
        let (first, second) =
            (self.job(a, snapshot.jobs[a].members.len()), self.job(b, snapshot.jobs[b].members.len()));
        let by_job = self.plugins().map(|p| p.job_order(&first, &second)).find(|order| order.is_ne());
        let by_task = || self.plugins().map(|p| p.task_order(first.workload, second.workload)).find(|o| o.is_ne());
        by_job.or_else(by_task).unwrap_or_else(|| by_age(snapshot, a, b))
    }
}
