//! Tiers of plug-ins: answers in a tier are intersected, the first tier that answers decides, and an empty answer is
//! a veto, as it is intersected with all that follow.

use std::cmp::Ordering;

use super::plugins::{Job, Plugin, Reclaimee, is_overused, plugin};
use super::{Allowed, Denied, Policy, by_age, worst};
use crate::domain::decimal::Amount;
use crate::domain::division::report::order::Key;
use crate::domain::division::{Fraction, Position};
use crate::domain::reclaim::holdings::Standing;
use crate::domain::reclaim::outcome::Rule;
use crate::domain::reclaim::snapshot::Scene;
use crate::domain::reclaim::snapshot::Unit;

pub struct Tiers<'a> {
    scene: &'a Scene<'a>,
    plugins: Vec<Vec<&'static dyn Plugin>>,
    /// By workload: the largest part of the capacity that it holds.
    dominant_shares: Vec<Fraction>,
}

impl<'a> Tiers<'a> {
    /// Names that no plug-in has are faults before a plan is made.
    pub fn new(scene: &'a Scene<'a>) -> Self {
        let tiers = scene.options.tiers.iter();
        let plugins = tiers.map(|names| names.iter().filter_map(|name| plugin(name)).collect()).collect();
        let share = |job: &crate::domain::reclaim::snapshot::Job| {
            let held = scene.held(job.members.clone());
            let part = |(held, capacity): (&Amount, &Amount)| Fraction::of(*held, *capacity);
            held.iter().zip(&scene.tree.capacity).map(part).max().unwrap_or(Fraction::ZERO)
        };
        Self { scene, plugins, dominant_shares: scene.jobs.iter().map(share).collect() }
    }

    fn plugins(&self) -> impl Iterator<Item = &'static dyn Plugin> + '_ {
        self.plugins.iter().flatten().copied()
    }

    fn job(&self, at: usize, running: usize) -> Job<'_> {
        Job {
            workload: &self.scene.running[at],
            running,
            gang_min: self.scene.jobs[at].core,
            dominant_share: self.dominant_shares[at],
        }
    }
}

impl Policy for Tiers<'_> {
    fn gate(&self, standing: &Standing) -> Result<(), Denied> {
        let queue = self.scene.queue();
        let position = standing.position(queue);
        if self.plugins().all(|p| p.name() != "proportion") || !is_overused(&position) {
            return Ok(());
        }
        let (column, ratio) = worst(0..self.scene.width(), |column| position.saturation(column));
        Err(Denied { column, ours: Some(ratio), ..Denied::plain(Rule::GateFairShare, queue) })
    }

    fn keeps_gangs_whole(&self) -> bool {
        false
    }

    fn decides_by_queue(&self) -> bool {
        false
    }

    fn before(&self, standing: &Standing, unit: &Unit) -> Result<Allowed, Denied> {
        let level = unit.queue;
        let slots = self.scene.held(unit.members.clone());
        let reclaimee = Reclaimee {
            job: self.job(unit.job, standing.running(unit.job)),
            queue: standing.position(level),
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

    fn after(&self, _: &Standing, _: usize) -> Result<(), Denied> {
        Ok(())
    }

    fn compare_queues(&self, a: (&Position, &Key), b: (&Position, &Key)) -> Ordering {
        let decided = self.plugins().map(|p| p.queue_order(a.0, b.0)).find(|order| order.is_ne());
        decided.unwrap_or_else(|| self.scene.tree.by_age(a.0.queue, b.0.queue))
    }

    fn compare_jobs(&self, scene: &Scene, a: usize, b: usize) -> Ordering {
        let (first, second) = (self.job(a, scene.jobs[a].members.len()), self.job(b, scene.jobs[b].members.len()));
        let by_job = self.plugins().map(|p| p.job_order(&first, &second)).find(|order| order.is_ne());
        let by_task = || self.plugins().map(|p| p.task_order(first.workload, second.workload)).find(|o| o.is_ne());
        by_job.or_else(by_task).unwrap_or_else(|| by_age(scene, a, b))
    }
}
