//! The rules of victims in plain integers, independent of the planner.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use fairshared::domain::decimal::Amount;
use fairshared::domain::division::{QueueSlotGrid, QueueTree};
use fairshared::domain::queues::Bound;
use fairshared::domain::reclaim::{ReclaimPlan, ReclaimStrategy, Victim};
use fairshared::domain::slots::SlotAmounts;
use fairshared::domain::time::Timestamp;

use super::support::{Case, NOW};

pub type Row = Vec<u128>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Reclaim,
    Preempt,
}

/// The members of a workload that are evicted at once, by their indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    pub workload: usize,
    pub members: Vec<usize>,
}

pub struct World<'a> {
    pub case: &'a Case,
    pub tree: QueueTree,
    share: QueueSlotGrid<Amount>,
    request: Row,
    path: Vec<usize>,
    /// By workload.
    queues: Vec<usize>,
    /// By workload and member.
    slots: Vec<Vec<Row>>,
}

impl<'a> World<'a> {
    pub fn new(case: &'a Case) -> Self {
        let tree = case.tree();
        let share = case.fair_share(&tree);
        let mut request = vec![0; tree.slots.len()];
        case.pending.members.iter().for_each(|m| add(&mut request, &row(&tree, &m.slots)));
        let path = tree.ancestry(tree.find(&case.pending.queue).unwrap()).collect();
        let queues = case.running.iter().map(|w| tree.find(&w.queue).unwrap()).collect();
        let slots = case.running.iter().map(|w| w.members.iter().map(|m| row(&tree, &m.slots)).collect()).collect();
        Self { case, tree, share, request, path, queues, slots }
    }

    fn columns(&self) -> Range<usize> {
        0..self.tree.slots.len()
    }

    pub fn queue_of(&self, workload: usize) -> usize {
        self.queues[workload]
    }

    /// The victims of a plan, in its order.
    pub fn units(&self, plan: &ReclaimPlan) -> Vec<Unit> {
        let unit = |victim: &Victim| {
            let workload = self.case.running.iter().position(|w| w.workload_id == victim.workload_id).unwrap();
            let members = &self.case.running[workload].members;
            let place = |kernel: &Arc<str>| members.iter().position(|m| m.kernel_id == *kernel).unwrap();
            Unit { workload, members: victim.kernel_ids.iter().map(place).collect() }
        };
        plan.victims.iter().map(unit).collect()
    }

    /// The amounts that a queue lost with the units.
    fn lost(&self, gone: &[Unit], queue: usize) -> Row {
        let mut lost = vec![0; self.tree.slots.len()];
        for unit in gone.iter().filter(|u| self.tree.ancestry(self.queues[u.workload]).any(|q| q == queue)) {
            unit.members.iter().for_each(|m| add(&mut lost, &self.slots[unit.workload][*m]));
        }
        lost
    }

    /// The amounts that a queue holds without the units.
    fn rest(&self, gone: &[Unit], queue: usize) -> Row {
        let lost = self.lost(gone, queue);
        self.columns().map(|c| self.tree.allocated[(queue, c)].units() - lost[c]).collect()
    }

    /// [`Self::rest`] plus the request.
    fn with_request(&self, gone: &[Unit], queue: usize) -> Row {
        self.rest(gone, queue).iter().zip(&self.request).map(|(held, asked)| held + asked).collect()
    }

    /// The sides just below the lowest common ancestor; of the reclaimer's own queues there are none.
    pub fn pair(&self, queue: usize) -> Option<(usize, usize)> {
        if self.path.contains(&queue) {
            return None;
        }
        let mut theirs = queue;
        loop {
            let parent = self.tree.queues[theirs].parent;
            if parent == Some(self.path[0]) {
                return None;
            }
            if let Some(ours) = self.path.iter().find(|q| self.tree.queues[**q].parent == parent) {
                return Some((*ours, theirs));
            }
            theirs = parent.unwrap();
        }
    }

    /// From a queue up to its side.
    pub fn up_to_side(&self, queue: usize) -> Vec<usize> {
        let side = self.pair(queue).map_or(queue, |(_, theirs)| theirs);
        let above = self.tree.ancestry(queue).take_while(|q| *q != side);
        above.chain([side]).collect()
    }

    pub fn core(&self, workload: usize) -> usize {
        let (all, min) = (self.case.running[workload].members.len(), self.case.running[workload].gang_min);
        min.map_or(all, |min| all.min(min as usize))
    }

    /// True if the workload started too recently to lose more than its surplus.
    pub fn is_young(&self, mode: Mode, workload: usize) -> bool {
        let (queue, known) = (self.queues[workload], &self.case.running[workload]);
        let from = if mode == Mode::Preempt { queue } else { *self.up_to_side(queue).last().unwrap() };
        let seconds = self.tree.ancestry(from).find_map(|queue| {
            let queue = &self.tree.queues[queue];
            if mode == Mode::Preempt { queue.preempt_min_runtime } else { queue.reclaim_min_runtime }
        });
        let age = |started: Timestamp| NOW.parse::<Timestamp>().unwrap().micros() - started.micros();
        known.started_at.zip(seconds).is_some_and(|(s, least)| age(s) < i64::try_from(least).unwrap() * 1_000_000)
    }

    /// Every workload that lost something lost all, or keeps as many members as its gang needs.
    pub fn gangs_hold(&self, gone: &[Unit]) -> bool {
        gone.iter().all(|unit| {
            let lost: usize = gone.iter().filter(|u| u.workload == unit.workload).map(|u| u.members.len()).sum();
            let left = self.case.running[unit.workload].members.len() - lost;
            left == 0 || left >= self.core(unit.workload)
        })
    }

    /// True if all members have room at once, found by trying every agent for each.
    pub fn has_room(&self, gone: &[Unit]) -> bool {
        let Some(agents) = &self.case.agents else {
            let roots = self.tree.children(None).iter().map(|q| self.rest(gone, *q));
            let held = roots.fold(vec![0; self.request.len()], |mut sum, row| {
                add(&mut sum, &row);
                sum
            });
            let fits = |c: usize| held[c] + self.request[c] <= self.tree.capacity[c].units();
            return self.columns().all(|c| self.request[c] == 0 || fits(c));
        };
        let places: HashMap<&str, usize> = agents.iter().enumerate().map(|(at, a)| (&*a.agent_id, at)).collect();
        let mut free: Vec<Vec<i128>> = agents.iter().map(|a| signed(&row(&self.tree, &a.available_slots))).collect();
        for (workload, known) in self.case.running.iter().enumerate() {
            for (at, member) in known.members.iter().enumerate() {
                let stays = !gone.iter().any(|u| u.workload == workload && u.members.contains(&at));
                if let Some(agent) = member.agent_id.as_deref().and_then(|a| places.get(a)).filter(|_| stays) {
                    let slots = signed(&self.slots[workload][at]);
                    free[*agent].iter_mut().zip(slots).for_each(|(f, s)| *f -= s);
                }
            }
        }
        self.assign(0, &mut free)
    }

    fn assign(&self, member: usize, free: &mut [Vec<i128>]) -> bool {
        let Some(asked) = self.case.pending.members.get(member) else { return true };
        let slots = signed(&row(&self.tree, &asked.slots));
        let agents = self.case.agents.iter().flatten().enumerate();
        agents.filter(|(_, a)| a.schedulable && asked.labels.iter().all(|l| a.labels.get(l.0) == Some(l.1))).any(
            |(at, _)| {
                let fits = free[at].iter().zip(&slots).all(|(f, s)| *s == 0 || f >= s);
                if !fits {
                    return false;
                }
                free[at].iter_mut().zip(&slots).for_each(|(f, s)| *f -= s);
                let all = self.assign(member + 1, free);
                free[at].iter_mut().zip(&slots).for_each(|(f, s)| *f += s);
                all
            },
        )
    }

    /// Nothing is placed where it has no room; every member is placed once.
    pub fn placement_holds(&self, plan: &ReclaimPlan) -> bool {
        let (Some(agents), Some(placed)) = (&self.case.agents, &plan.placement) else {
            return self.case.agents.is_none() && plan.placement.is_none();
        };
        let gone = self.units(plan);
        let members: Vec<usize> = placed.iter().map(|p| p.member).collect();
        members == (0..self.case.pending.members.len()).collect::<Vec<_>>()
            && agents.iter().all(|agent| {
                let mut asked = vec![0; self.request.len()];
                let here: Vec<_> = placed.iter().filter(|p| p.agent_id == agent.agent_id).collect();
                let members = || here.iter().map(|p| &self.case.pending.members[p.member]);
                members().for_each(|m| add(&mut asked, &row(&self.tree, &m.slots)));
                let mut used = asked.clone();
                for (workload, known) in self.case.running.iter().enumerate() {
                    for (at, member) in known.members.iter().enumerate() {
                        let stays = !gone.iter().any(|u| u.workload == workload && u.members.contains(&at));
                        if stays && member.agent_id.as_ref() == Some(&agent.agent_id) {
                            add(&mut used, &self.slots[workload][at]);
                        }
                    }
                }
                let total = row(&self.tree, &agent.available_slots);
                let labelled = members().all(|m| m.labels.iter().all(|l| agent.labels.get(l.0) == Some(l.1)));
                here.is_empty()
                    || agent.schedulable && labelled && self.columns().all(|c| asked[c] == 0 || used[c] <= total[c])
            })
    }

    pub fn within_limits(&self, gone: &[Unit]) -> bool {
        self.path.iter().all(|queue| {
            let held = self.with_request(gone, *queue);
            self.columns().all(|c| self.request[c] == 0 || within(held[c], self.tree.limit[(*queue, c)]))
        })
    }

    pub fn gate_open(&self) -> bool {
        let held = self.with_request(&[], self.path[0]);
        self.columns().all(|c| held[c] <= self.share[(self.path[0], c)].units())
    }

    /// A non-preemptible workload stays within every quota above it.
    pub fn quotas_allow(&self) -> bool {
        let allows = |queue: usize, c: usize| {
            let held = self.tree.allocated_non_preemptible[(queue, c)].units() + self.request[c];
            self.request[c] == 0 || within(held, self.tree.quota[(queue, c)])
        };
        self.case.pending.preemptible
            || self.has_tiers()
            || self.path.iter().all(|q| self.columns().all(|c| allows(*q, c)))
    }

    fn is_in_quota(&self, queue: usize, held: &[u128]) -> bool {
        self.columns().all(|c| within(held[c], self.tree.quota[(queue, c)]))
    }

    fn is_above_share(&self, queue: usize, held: &[u128]) -> bool {
        self.columns().any(|c| !within(held[c], self.allocatable(queue, c)))
    }

    fn allocatable(&self, queue: usize, c: usize) -> Bound {
        let (cell, share) = ((queue, c), self.share[(queue, c)]);
        match self.tree.quota[cell] {
            Bound::Unlimited => self.tree.limit[cell],
            Bound::Limited(quota) => Bound::Limited(self.tree.limit[cell].cut(quota.max(share))),
        }
    }

    /// The strategies by which a workload's unit may be evicted after others: its side is above its share or, if the
    /// reclaimer stays within its quota, above its quota; and no queue from its own up to its side is within its quota.
    pub fn strategies(&self, gone: &[Unit], workload: usize) -> Vec<ReclaimStrategy> {
        let queue = self.queues[workload];
        let Some((ours, theirs)) = self.pair(queue) else { return Vec::new() };
        if self.up_to_side(queue).iter().any(|q| self.is_in_quota(*q, &self.rest(gone, *q))) {
            return Vec::new();
        }
        let allows = |strategy: &ReclaimStrategy| match strategy {
            ReclaimStrategy::FairShare => self.is_above_share(theirs, &self.rest(gone, theirs)),
            ReclaimStrategy::Quota => self.is_in_quota(ours, &self.with_request(&[], ours)),
        };
        self.case.options.plan.strategies.iter().copied().filter(allows).collect()
    }

    /// By slot: the amounts that the pending workload's queue holds and deserves.
    pub fn pending_figures(&self) -> impl Iterator<Item = (u128, u128)> {
        let queue = self.path[0];
        self.columns().map(move |c| (self.tree.allocated[(queue, c)].units(), self.share[(queue, c)].units()))
    }

    /// True if a unit's queue keeps what it deserves without the unit, after the eviction of others.
    pub fn keeps_what_it_deserves(&self, gone: &[Unit], unit: &Unit) -> bool {
        let (queue, all) = (self.queues[unit.workload], [gone, std::slice::from_ref(unit)].concat());
        let rest = self.rest(&all, queue);
        self.columns().all(|c| rest[c] >= self.share[(queue, c)].units())
    }

    /// A saturation ratio above 1 is allowed only below that of every sibling that lost something.
    pub fn saturation_holds(&self, gone: &[Unit]) -> bool {
        gone.iter().filter_map(|unit| self.pair(self.queues[unit.workload])).all(|(ours, theirs)| {
            let (a, b) = (self.with_request(gone, ours), self.rest(gone, theirs));
            self.involved(gone, theirs).all(|c| {
                let (f, g) = (self.share[(ours, c)].units(), self.share[(theirs, c)].units());
                !(a[c] > f && g > 0 && self.is_not_below((a[c], f), (b[c], g)))
            })
        })
    }

    fn involved(&self, gone: &[Unit], theirs: usize) -> impl Iterator<Item = usize> {
        let lost = self.lost(gone, theirs);
        self.columns().filter(move |c| self.request[*c] > 0 || lost[*c] > 0)
    }

    /// a/f x multiplier >= b/g, where g is not 0.
    fn is_not_below(&self, (a, f): (u128, u128), (b, g): (u128, u128)) -> bool {
        const TENTH: u128 = Amount::whole(1).units() / 10;
        let tenths = self.case.options.plan.reclaimer_utilization_multiplier.units().max(10 * TENTH) / TENTH;
        f == 0 || a * g * tenths >= b * f * 10
    }

    /// No queue loses an amount that could at once be reclaimed from the reclaimer's side: the amount is above neither its
    /// share nor, if the other side comes back within its own share, its quota; or a quota below it retains all; or the
    /// loser's gate is closed, or saturation forbids the way back.
    pub fn no_ping_pong(&self, gone: &[Unit]) -> bool {
        let uses = |strategy| self.case.options.plan.strategies.contains(&strategy);
        gone.iter().all(|unit| {
            let queue = self.queues[unit.workload];
            let Some((ours, theirs)) = self.pair(queue) else { return true };
            let mut back = vec![0; self.request.len()];
            unit.members.iter().for_each(|m| add(&mut back, &self.slots[unit.workload][*m]));
            let with = |queue: usize| -> Row { self.rest(gone, queue).iter().zip(&back).map(|(h, b)| h + b).collect() };
            let (held, again, of_queue) = (self.with_request(gone, ours), with(theirs), with(queue));
            let by_share = uses(ReclaimStrategy::FairShare) && self.is_above_share(ours, &held);
            let by_quota =
                uses(ReclaimStrategy::Quota) && self.is_in_quota(theirs, &again) && !self.is_in_quota(ours, &held);
            let mut sides = self.path.iter().take(1 + self.path.iter().position(|q| *q == ours).unwrap());
            let kept = sides.any(|q| self.is_in_quota(*q, &self.with_request(gone, *q)));
            let gate_closed = self.columns().any(|c| of_queue[c] > self.share[(queue, c)].units());
            let saturated = self.columns().filter(|c| back[*c] > 0).any(|c| {
                let (f, g) = (self.share[(theirs, c)].units(), self.share[(ours, c)].units());
                again[c] > f && g > 0 && self.is_not_below((again[c], f), (held[c], g))
            });
            !by_share && !by_quota || kept || gate_closed || saturated
        })
    }
}

fn within(held: u128, bound: Bound) -> bool {
    match bound {
        Bound::Unlimited => true,
        Bound::Limited(bound) => held <= bound.units(),
    }
}

fn row(tree: &QueueTree, slots: &SlotAmounts) -> Row {
    let mut row = vec![0; tree.slots.len()];
    slots.iter().for_each(|(slot, amount)| row[tree.column(slot).unwrap()] = amount.units());
    row
}

fn add(row: &mut [u128], more: &[u128]) {
    row.iter_mut().zip(more).for_each(|(r, m)| *r += m);
}

fn signed(row: &[u128]) -> Vec<i128> {
    row.iter().map(|units| i128::try_from(*units).unwrap()).collect()
}
