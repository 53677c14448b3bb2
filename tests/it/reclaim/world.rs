//! The rules of a plan in plain integers, apart from the planner.

use std::collections::{BTreeMap, HashSet};

use fairshared::domain::decimal::Amount;
use fairshared::domain::division::{Bound, Grid, Tree};
use fairshared::domain::reclaim::{Pending, Plan, RunningMember, Verdict, Victim, Workload};
use fairshared::domain::slots::Amounts;
use serde_json::{Value, json};

use super::support::Case;

pub struct World<'a> {
    case: &'a Case,
    tree: Tree,
    share: Grid<Amount>,
    request: Vec<u128>,
    path: Vec<usize>,
}

type Row = Vec<u128>;

impl<'a> World<'a> {
    pub fn new(case: &'a Case) -> Self {
        let tree = case.tree();
        let share = case.fair_share(&tree);
        let mut request = vec![0; tree.slots.len()];
        case.pending.members.iter().for_each(|m| add(&tree, &mut request, &m.slots));
        let path = tree.ancestry(tree.find(&case.pending.queue).unwrap()).collect();
        Self { case, tree, share, request, path }
    }

    fn columns(&self) -> std::ops::Range<usize> {
        0..self.tree.slots.len()
    }

    fn member(&self, kernel: &str) -> &RunningMember {
        self.case.running.iter().flat_map(|w| &w.members).find(|m| &*m.kernel_id == kernel).unwrap()
    }

    fn slots_of(&self, victim: &Victim) -> Row {
        let mut row = vec![0; self.tree.slots.len()];
        victim.kernel_ids.iter().for_each(|k| add(&self.tree, &mut row, &self.member(k).slots));
        row
    }

    /// What a queue lost to the victims, without the one at `but`.
    fn lost(&self, plan: &Plan, but: Option<usize>, queue: usize) -> Row {
        let mut lost = vec![0; self.tree.slots.len()];
        for (_, victim) in plan.victims.iter().enumerate().filter(|(at, _)| Some(*at) != but) {
            if self.tree.ancestry(self.tree.find(&victim.queue).unwrap()).any(|q| q == queue) {
                self.slots_of(victim).iter().zip(&mut lost).for_each(|(s, l)| *l += s);
            }
        }
        lost
    }

    fn held(&self, queue: usize, column: usize) -> u128 {
        self.tree.allocated[(queue, column)].units()
    }

    fn pair(&self, victim: &Victim) -> (usize, usize) {
        self.pair_of(&victim.queue)
    }

    /// The sides just below the lowest common ancestor.
    fn pair_of(&self, queue: &str) -> (usize, usize) {
        let mut theirs = self.tree.find(queue).unwrap();
        loop {
            let parent = self.tree.queues[theirs].parent;
            if let Some(ours) = self.path.iter().find(|q| self.tree.queues[**q].parent == parent) {
                return (*ours, theirs);
            }
            theirs = parent.unwrap();
        }
    }

    /// The victim's side of a queue, by name.
    pub fn side_of(&self, queue: &str) -> &str {
        self.tree.name(self.pair_of(queue).1)
    }

    pub fn min_runtime(&self, plan: &Plan, victim: &Victim) -> Option<i64> {
        let (from, preempt) = match plan.verdict {
            Verdict::Preempt => (self.tree.find(&victim.queue).unwrap(), true),
            _ => (self.pair(victim).1, false),
        };
        let seconds = |queue: usize| {
            let queue = &self.tree.queues[queue];
            if preempt { queue.preempt_min_runtime } else { queue.reclaim_min_runtime }
        };
        self.tree.ancestry(from).find_map(seconds).map(|s| i64::try_from(s).unwrap())
    }

    pub fn may_stay(&self, plan: &Plan, unit: usize) -> bool {
        let victim = &plan.victims[unit];
        let workload = self.case.running.iter().find(|w| w.workload_id == victim.workload_id).unwrap();
        let evicted: usize =
            plan.victims.iter().filter(|v| v.workload_id == victim.workload_id).map(|v| v.kernel_ids.len()).sum();
        let core = workload.gang_min.map_or(workload.members.len(), |m| workload.members.len().min(m as usize));
        let left = workload.members.len() - evicted + victim.kernel_ids.len();
        left >= core
    }

    pub fn has_room(&self, plan: &Plan, but: Option<usize>) -> bool {
        let gone: HashSet<&str> = plan
            .victims
            .iter()
            .enumerate()
            .filter(|(at, _)| Some(*at) != but)
            .flat_map(|(_, v)| v.kernel_ids.iter().map(|k| &**k))
            .collect();
        let Some(agents) = &self.case.agents else {
            return self.columns().all(|c| {
                let roots = self.tree.children(None).iter();
                let held: u128 = roots.map(|q| self.held(*q, c) - self.lost(plan, but, *q)[c]).sum();
                self.request[c] == 0 || held + self.request[c] <= self.tree.capacity[c].units()
            });
        };
        // All members ask for the same, so counting is exact.
        let mut one = vec![0; self.tree.slots.len()];
        add(&self.tree, &mut one, &self.case.pending.members[0].slots);
        let mut fits = 0u128;
        for agent in agents.iter().filter(|a| a.schedulable) {
            let mut free = vec![0; one.len()];
            add(&self.tree, &mut free, &agent.available_slots);
            for member in self.case.running.iter().flat_map(|w| &w.members) {
                if member.agent_id.as_ref() == Some(&agent.agent_id) && !gone.contains(&*member.kernel_id) {
                    let mut row = vec![0; one.len()];
                    add(&self.tree, &mut row, &member.slots);
                    row.iter().zip(&mut free).for_each(|(r, f)| *f -= r);
                }
            }
            let counts = self.columns().filter(|c| one[*c] > 0).map(|c| free[c] / one[c]);
            fits += counts.min().unwrap_or(u128::from(u32::MAX));
        }
        fits >= self.case.pending.members.len() as u128
    }

    /// Nothing is placed where it has no room; every member is placed once.
    pub fn placement_holds(&self, plan: &Plan) -> bool {
        let (Some(agents), Some(placed)) = (&self.case.agents, &plan.placement) else {
            return self.case.agents.is_none() && plan.placement.is_none();
        };
        let gone: HashSet<&str> = plan.victims.iter().flat_map(|v| v.kernel_ids.iter().map(|k| &**k)).collect();
        let members: Vec<usize> = placed.iter().map(|p| p.member).collect();
        members == (0..self.case.pending.members.len()).collect::<Vec<_>>()
            && agents.iter().all(|agent| {
                let mut used = vec![0; self.tree.slots.len()];
                let here = placed.iter().filter(|p| p.agent_id == agent.agent_id);
                let count =
                    here.map(|p| add(&self.tree, &mut used, &self.case.pending.members[p.member].slots)).count();
                let asked = used.clone();
                for member in self.case.running.iter().flat_map(|w| &w.members) {
                    if member.agent_id.as_ref() == Some(&agent.agent_id) && !gone.contains(&*member.kernel_id) {
                        add(&self.tree, &mut used, &member.slots);
                    }
                }
                let mut total = vec![0; used.len()];
                add(&self.tree, &mut total, &agent.available_slots);
                count == 0 || agent.schedulable && self.columns().all(|c| asked[c] == 0 || used[c] <= total[c])
            })
    }

    pub fn within_limits(&self, plan: &Plan, but: Option<usize>) -> bool {
        self.path.iter().all(|queue| {
            let lost = self.lost(plan, but, *queue);
            self.columns().filter(|c| self.request[*c] > 0).all(|c| match self.tree.limit[(*queue, c)] {
                Bound::Unlimited => true,
                Bound::Limited(limit) => self.held(*queue, c) - lost[c] + self.request[c] <= limit.units(),
            })
        })
    }

    pub fn gate_open(&self) -> bool {
        let leaf = self.path[0];
        self.columns().all(|c| self.held(leaf, c) + self.request[c] <= self.share[(leaf, c)].units())
    }

    /// Each victim's side was above its share or, if the reclaimer stays in quota, its quota when the victim went; no
    /// queue that was in quota on every slot lost anything, be it the victim's own, its side or one between.
    pub fn strategies_hold(&self, plan: &Plan) -> bool {
        let mut held: BTreeMap<usize, Row> = BTreeMap::new();
        plan.victims.iter().all(|victim| {
            let (ours, theirs) = self.pair(victim);
            let lawful = self.nobody_in_quota(&held, victim)
                && match victim.rule.as_str() {
                    "fair_share" => self.is_above_share(&held, theirs),
                    "quota" => self.stays_in_quota(ours),
                    _ => false,
                };
            let slots = self.slots_of(victim);
            for queue in self.tree.ancestry(self.tree.find(&victim.queue).unwrap()) {
                let row = held.entry(queue).or_insert_with(|| self.row(queue));
                row.iter_mut().zip(&slots).for_each(|(r, s)| *r -= s);
            }
            lawful
        })
    }

    fn row(&self, queue: usize) -> Row {
        self.columns().map(|c| self.held(queue, c)).collect()
    }

    /// `held` has the rows of queues that lost something.
    fn nobody_in_quota(&self, held: &BTreeMap<usize, Row>, victim: &Victim) -> bool {
        let mut queue = self.tree.find(&victim.queue).unwrap();
        loop {
            let row = held.get(&queue).cloned().unwrap_or_else(|| self.row(queue));
            if self.columns().all(|c| Self::within(row[c], self.tree.quota[(queue, c)])) {
                return false;
            }
            if queue == self.pair(victim).1 {
                return true;
            }
            queue = self.tree.queues[queue].parent.unwrap();
        }
    }

    fn within(held: u128, bound: Bound) -> bool {
        match bound {
            Bound::Unlimited => true,
            Bound::Limited(bound) => held <= bound.units(),
        }
    }

    fn is_above_share(&self, held: &BTreeMap<usize, Row>, queue: usize) -> bool {
        let row = held.get(&queue).cloned().unwrap_or_else(|| self.row(queue));
        self.columns().any(|c| {
            let (cell, share) = ((queue, c), self.share[(queue, c)]);
            let allocatable = match self.tree.quota[cell] {
                Bound::Unlimited => self.tree.limit[cell],
                Bound::Limited(quota) => Bound::Limited(self.tree.limit[cell].cut(quota.max(share))),
            };
            !Self::within(row[c], allocatable)
        })
    }

    fn stays_in_quota(&self, queue: usize) -> bool {
        self.columns().all(|c| Self::within(self.held(queue, c) + self.request[c], self.tree.quota[(queue, c)]))
    }

    /// r > 1 only below every sibling that lost something.
    pub fn saturation_holds(&self, plan: &Plan, but: Option<usize>) -> bool {
        let mut sides: Vec<(usize, usize)> = Vec::new();
        for (_, victim) in plan.victims.iter().enumerate().filter(|(at, _)| Some(*at) != but) {
            sides.push(self.pair(victim));
        }
        sides.iter().all(|(ours, theirs)| {
            let (mine, lost) = (self.lost(plan, but, *ours), self.lost(plan, but, *theirs));
            self.columns().filter(|c| self.request[*c] > 0 || lost[*c] > 0).all(|c| {
                let (f, g) = (self.share[(*ours, c)].units(), self.share[(*theirs, c)].units());
                let (a, b) = (self.held(*ours, c) - mine[c] + self.request[c], self.held(*theirs, c) - lost[c]);
                // a/f > 1 and a/f >= b/g
                let (above, not_below) = (a > f, (a as f64 / f as f64) >= (b as f64 / g as f64));
                !(above && g > 0 && (f == 0 || not_below))
            })
        })
    }

    /// The cluster after the plan, once for each workload that lost something and wants it back.
    pub fn after(&self, plan: &Plan) -> Vec<(String, Case)> {
        let gone: HashSet<&str> = plan.victims.iter().flat_map(|v| v.kernel_ids.iter().map(|k| &**k)).collect();
        let mut next = self.case.clone();
        for workload in &mut next.running {
            workload.members.retain(|m| !gone.contains(&*m.kernel_id));
        }
        next.running.retain(|w| !w.members.is_empty());
        next.running.push(self.started(plan));
        let mut losers: Vec<&Workload> = Vec::new();
        for workload in &self.case.running {
            if workload.members.iter().any(|m| gone.contains(&*m.kernel_id)) {
                losers.push(workload);
            }
        }
        let back = |loser: &&Workload| {
            let members: Vec<Value> = loser
                .members
                .iter()
                .filter(|m| gone.contains(&*m.kernel_id))
                .map(|m| json!({"slots": m.slots}))
                .collect();
            let mut case = next.clone();
            // The demand of the others that lost something stays.
            for other in losers.iter().filter(|o| o.workload_id != loser.workload_id) {
                let slots: Vec<&RunningMember> =
                    other.members.iter().filter(|m| gone.contains(&*m.kernel_id)).collect();
                case.add_demand(&other.queue, &slots);
            }
            case.pending = serde_json::from_value::<Pending>(json!({
                "workload_id": loser.workload_id, "queue": loser.queue, "priority": loser.priority,
                "preemptible": loser.preemptible, "members": members,
            }))
            .unwrap();
            (loser.workload_id.to_string(), case)
        };
        losers.iter().map(back).collect()
    }

    fn started(&self, plan: &Plan) -> Workload {
        let pending = &self.case.pending;
        let agent =
            |at: usize| plan.placement.as_ref().and_then(|p| p.iter().find(|p| p.member == at)).map(|p| &*p.agent_id);
        let members: Vec<Value> = pending
            .members
            .iter()
            .enumerate()
            .map(|(at, m)| json!({"kernel_id": format!("new/{at}"), "slots": m.slots, "agent_id": agent(at)}))
            .collect();
        serde_json::from_value(json!({
            "workload_id": "new", "queue": pending.queue, "priority": pending.priority, "members": members,
            "preemptible": pending.preemptible,
        }))
        .unwrap()
    }
}

impl Case {
    /// Demand that is neither running nor planned for.
    fn add_demand(&mut self, queue: &str, members: &[&RunningMember]) {
        let tree = self.tree();
        let at = tree.find(queue).unwrap();
        let mut request = tree.amounts(tree.request.row(at));
        for m in members {
            request.add(&m.slots);
        }
        let spec = self.queues.iter_mut().find(|q| q.name == queue).unwrap();
        spec.request = Some(request);
    }
}

fn add(tree: &Tree, row: &mut [u128], slots: &Amounts) {
    for (slot, amount) in slots.iter() {
        row[tree.column(slot).unwrap()] += amount.units();
    }
}
