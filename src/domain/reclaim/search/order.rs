//! Candidates one by one, those that lose first first (§6.4): the reverse of the queue order, asked anew whenever a
//! queue would have lost something. The tree is walked by heaps, as only the queue that just lost can move.

use std::cmp::Ordering;

use super::candidates::Extent;
use crate::domain::division::report::order::{Key, key};
use crate::domain::reclaim::budget::{Budget, Exhausted};
use crate::domain::reclaim::holdings::Standing;
use crate::domain::reclaim::policy::Policy;
use crate::domain::reclaim::snapshot::Scene;
use crate::domain::reclaim::snapshot::Unit;

pub struct Order<'a> {
    scene: &'a Scene<'a>,
    policy: &'a dyn Policy,
    extents: &'a [Extent],
    /// What queues would hold if everything that was handed out had gone.
    standing: Standing<'a>,
    keys: Vec<Option<Key>>,
    /// By queue, the roots last: children that still have candidates, who loses first at the top.
    heaps: Vec<Vec<usize>>,
    /// By queue: its own candidates, the next one last; made when the queue is first asked.
    units: Vec<Option<Vec<Unit>>>,
    /// By queue: candidates in it and below.
    left: Vec<usize>,
    own: Vec<usize>,
}

impl<'a> Order<'a> {
    pub fn new(scene: &'a Scene<'a>, policy: &'a dyn Policy, extents: &'a [Extent]) -> Self {
        let rows = scene.tree.len();
        let mut order = Self {
            scene,
            policy,
            extents,
            standing: Standing::new(scene, Vec::new()),
            keys: vec![None; rows],
            heaps: vec![Vec::new(); rows + 1],
            units: vec![None; rows],
            left: vec![0; rows],
            own: vec![0; rows],
        };
        for (job, extent) in extents.iter().enumerate() {
            let known = &scene.jobs[job];
            let core = extent.core(policy, known);
            let surplus = known.members.len() - core;
            let units = match extent {
                Extent::Nothing => 0,
                Extent::Surplus => surplus,
                Extent::All => surplus + usize::from(core > 0),
            };
            order.own[known.queue] += units;
        }
        order.fill_heaps();
        order
    }

    fn fill_heaps(&mut self) {
        let tree = self.scene.tree;
        for queue in tree.top_down().iter().rev().copied() {
            self.left[queue] += self.own[queue];
            if self.left[queue] == 0 {
                continue;
            }
            self.keys[queue] = Some(key(&self.standing.position(queue), &[], &[]));
            if let Some(parent) = tree.queues[queue].parent {
                self.left[parent] += self.left[queue];
            }
            self.heaps[tree.queues[queue].parent.unwrap_or(tree.len())].push(queue);
        }
        for heap in 0..self.heaps.len() {
            for at in (0..self.heaps[heap].len() / 2).rev() {
                self.sift(heap, at);
            }
        }
    }

    /// The next candidate.
    pub fn next(&mut self, budget: &mut Budget) -> Result<Option<Unit>, Exhausted> {
        let roots = self.scene.tree.len();
        let Some(mut queue) = self.heaps[roots].first().copied() else { return Ok(None) };
        while self.own[queue] == 0 {
            let Some(below) = self.heaps[queue].first().copied() else { return Ok(None) };
            queue = below;
        }
        let Some(unit) = self.next_of(queue) else { return Ok(None) };
        budget.pay(self.scene.weight(&unit))?;
        self.own[queue] -= 1;
        self.standing.take(&unit);
        for at in self.scene.tree.ancestry(queue) {
            let heap = self.scene.tree.queues[at].parent.unwrap_or(roots);
            self.left[at] -= 1;
            if self.left[at] == 0 {
                self.heaps[heap].swap_remove(0);
            } else {
                self.keys[at] = Some(key(&self.standing.position(at), &[], &[]));
            }
            self.sift(heap, 0);
        }
        Ok(Some(unit))
    }

    fn sift(&mut self, heap: usize, mut at: usize) {
        loop {
            let len = self.heaps[heap].len();
            let mut first = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < len && self.loses_before(self.heaps[heap][child], self.heaps[heap][first]) {
                    first = child;
                }
            }
            if first == at {
                return;
            }
            self.heaps[heap].swap(at, first);
            at = first;
        }
    }

    fn loses_before(&self, a: usize, b: usize) -> bool {
        let (Some(key_a), Some(key_b)) = (&self.keys[a], &self.keys[b]) else { return false };
        let (at, bt) = (self.standing.position(a), self.standing.position(b));
        self.policy.compare_queues((&at, key_a), (&bt, key_b)) == Ordering::Greater
    }

    fn next_of(&mut self, queue: usize) -> Option<Unit> {
        if self.units[queue].is_none() {
            let mut units = self.units_of(queue);
            units.reverse();
            self.units[queue] = Some(units);
        }
        self.units[queue].as_mut()?.pop()
    }

    /// Surplus members of every workload, then gangs' cores; in each the reverse of the workload order, and of equal
    /// members the last listed first.
    fn units_of(&self, queue: usize) -> Vec<Unit> {
        let mut jobs: Vec<usize> =
            self.scene.jobs_of(queue).iter().copied().filter(|j| self.extents[*j] != Extent::Nothing).collect();
        jobs.sort_by(|a, b| self.policy.compare_jobs(self.scene, *b, *a).then_with(|| b.cmp(a)));
        let mut units = Vec::with_capacity(jobs.len());
        for job in jobs.iter().copied() {
            let known = &self.scene.jobs[job];
            let core = self.extents[job].core(self.policy, known);
            let surplus = (known.members.start + core..known.members.end).rev();
            units.extend(surplus.map(|member| Unit { job, queue, members: member..member + 1, is_core: false }));
        }
        for job in jobs.into_iter().filter(|j| self.extents[*j] == Extent::All) {
            let known = &self.scene.jobs[job];
            let core = Extent::All.core(self.policy, known);
            if core > 0 {
                let members = known.members.start..known.members.start + core;
                units.push(Unit { job, queue, members, is_core: true });
            }
        }
        units
    }
}
