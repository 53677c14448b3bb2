//! Tiers of plug-ins. The answers of a tier are intersected, and the first tier that answers decides. An empty answer
//! is a veto, because it is intersected with all that follow.

use std::cmp::Ordering;

use super::plugins::{PluginDenial, PluginJob, ReclaimPlugin, Reclaimee, plugin};
use super::{EvictionDenial, EvictionPolicy, EvictionReason, by_age};
use crate::decimal::Amount;
use crate::division::report::order::QueueOrderKey;
use crate::division::{Fraction, QueueAllocation};
use crate::reclaim::holdings::QueueHoldings;
use crate::reclaim::outcome::ReclaimRule;
use crate::reclaim::snapshot::{EvictionUnit, ReclaimSnapshot};

pub struct PluginTiers<'a> {
    snapshot: &'a ReclaimSnapshot<'a>,
    plugins: Vec<Vec<&'static dyn ReclaimPlugin>>,
    /// The dominant share of each workload in the capacity.
    dominant_shares: Vec<Fraction>,
}

impl<'a> PluginTiers<'a> {
    /// Unknown names are skipped here; they are reported as faults before a plan is made.
    pub fn new(snapshot: &'a ReclaimSnapshot<'a>) -> Self {
        let tiers = snapshot.options.tiers.iter();
        let plugins = tiers.map(|names| names.iter().filter_map(|name| plugin(name)).collect()).collect();
        let share = |job: &crate::reclaim::snapshot::SnapshotWorkload| {
            let held = snapshot.held(job.members.clone());
            let part = |(held, capacity): (&Amount, &Amount)| Fraction::of(*held, *capacity);
            held.iter().zip(&snapshot.tree.capacity).map(part).max().unwrap_or(Fraction::ZERO)
        };
        Self { snapshot, plugins, dominant_shares: snapshot.jobs.iter().map(share).collect() }
    }

    fn plugins(&self) -> impl Iterator<Item = &'static dyn ReclaimPlugin> + '_ {
        self.plugins.iter().flatten().copied()
    }

    fn job(&self, at: usize, running: usize) -> PluginJob<'_> {
        PluginJob {
            workload: &self.snapshot.running[at],
            running,
            gang_min: self.snapshot.jobs[at].core_kernels,
            dominant_share: self.dominant_shares[at],
        }
    }
}

impl EvictionPolicy for PluginTiers<'_> {
    fn gate(&self, holdings: &QueueHoldings) -> Result<(), EvictionDenial> {
        let queue = self.snapshot.queue();
        let position = holdings.position(queue);
        let kept = self.plugins().find_map(|plugin| plugin.gate(&position).err());
        kept.map_or(Ok(()), |PluginDenial { rule, column, ratio }| {
            Err(EvictionDenial { column, ours: ratio, ..EvictionDenial::plain(rule, queue) })
        })
    }

    fn keeps_gangs_whole(&self) -> bool {
        false
    }

    fn decides_by_queue(&self) -> bool {
        false
    }

    fn before(&self, holdings: &QueueHoldings, unit: &EvictionUnit) -> Result<EvictionReason, EvictionDenial> {
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
                        let plain = EvictionDenial::plain(kept.rule, level);
                        return Err(EvictionDenial { column: kept.column, theirs: kept.ratio, ..plain });
                    }
                }
            }
            if !agreed.is_empty() {
                return Ok(EvictionReason { rule: agreed.join("+").into(), level, column: None });
            }
        }
        Err(EvictionDenial::plain(ReclaimRule::Strategy, level))
    }

    fn after(&self, _: &QueueHoldings, _: usize) -> Result<(), EvictionDenial> {
        Ok(())
    }

    fn compare_queues(&self, a: (&QueueAllocation, &QueueOrderKey), b: (&QueueAllocation, &QueueOrderKey)) -> Ordering {
        let decided = self.plugins().map(|p| p.queue_order(a.0, b.0)).find(|order| order.is_ne());
        decided.unwrap_or_else(|| self.snapshot.tree.by_age(a.0.queue, b.0.queue))
    }

    fn compare_jobs(&self, snapshot: &ReclaimSnapshot, a: usize, b: usize) -> Ordering {
        let (first, second) = (self.job(a, snapshot.jobs[a].kernels), self.job(b, snapshot.jobs[b].kernels));
        let by_job = self.plugins().map(|p| p.job_order(&first, &second)).find(|order| order.is_ne());
        let by_task = || self.plugins().map(|p| p.task_order(first.workload, second.workload)).find(|o| o.is_ne());
        by_job.or_else(by_task).unwrap_or_else(|| by_age(snapshot, a, b))
    }
}
