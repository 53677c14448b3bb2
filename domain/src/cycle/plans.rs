//! Starts by eviction (CYCLE §5): for each workload that still waits, in order, the search of reclaim plans looks for
//! victims in the present state. What one plan frees and does not use is withheld from all others, nothing that started in
//! this cycle is a victim, and nothing is evicted for a start that does not happen.

use std::sync::Arc;

use super::facts::{ResolvedRequest, add_times};
use super::outcome::CycleEviction;
use super::placement::{PlacementRequest, SeatedMember, place, undo};
use super::predicates::NeighbourCounts;
use super::reasons::NotedReason;
use super::request::options::BackfillMode;
use super::shapes::WorkloadShape;
use super::state::{AttemptOptions, CycleState, WorkloadProgress, running_footprint};
use crate::decimal::Amount;
use crate::division::Fraction;
use crate::maps::{FastMap, FastSet};
use crate::reclaim::free_capacity::{FreeCapacity, PendingClass};
use crate::reclaim::holdings::QueueHoldings;
use crate::reclaim::policy::plugins::{self, ReclaimPlugin};
use crate::reclaim::policy::preemption::PreemptionPolicy;
use crate::reclaim::policy::strategies::StrategyPolicy;
use crate::reclaim::policy::tiers::PluginTiers;
use crate::reclaim::policy::{EvictionDenial, EvictionPolicy};
use crate::reclaim::search::{EvictionMode, SearchAttempt, SearchFailure};
use crate::reclaim::snapshot::{EvictionUnit, ReclaimSnapshot};
use crate::reclaim::{EvictionRefusal, PendingGang, PolicyName, ReclaimInput, ReclaimRule, Victim};

/// Victims that make room for a workload.
pub struct FoundVictims {
    victims: Vec<Victim>,
    pub units: Vec<EvictionUnit>,
    /// Pairs (member in task order, agent).
    placed: Vec<(usize, usize)>,
}

/// The reason why there are none.
#[derive(Clone)]
pub enum NoVictims {
    /// The workload deserves no more, or nothing could be a victim.
    NotAsked,
    Refused(Box<EvictionRefusal>),
    Exhausted,
}

/// Everything on which the result of a search depends besides the state.
type SearchKey = (usize, usize, i32, bool, bool, bool, usize);

/// The units that reclaims of this cycle evicted, and the queues that got their room.
#[derive(Clone, Default)]
pub struct ReclaimRecord {
    pub reclaimers: Vec<usize>,
    pub gone: Vec<(usize, Vec<Amount>)>,
}

/// The plans of one action.
pub struct PlanRun<'c, 'a> {
    pub cycle: &'c mut CycleState<'a>,
    pub mode: EvictionMode,
    action: &'static str,
    plugins: Vec<&'static dyn ReclaimPlugin>,
    /// Searches that found nothing, with the number of changes of the state before them.
    fruitless: FastMap<SearchKey, (usize, NoVictims)>,
    /// By queue: the lowest priority of what may be evicted there.
    lowest: Vec<Option<i32>>,
    pub returns: ReclaimRecord,
}

impl<'c, 'a> PlanRun<'c, 'a> {
    pub fn new(cycle: &'c mut CycleState<'a>, mode: EvictionMode, action: &'static str) -> Self {
        let options = cycle.plan_options;
        let plugins = match options.policy {
            PolicyName::Strategies => plugins::choosing_agents().collect(),
            PolicyName::Plugins => options.tiers.iter().flatten().filter_map(|name| plugins::plugin(name)).collect(),
        };
        let mut lowest: Vec<Option<i32>> = vec![None; cycle.turn.tree.len()];
        for (workload, queue) in cycle.running.workloads.iter().zip(cycle.running.queues()) {
            let known = &mut lowest[*queue];
            *known = Some(known.map_or(workload.priority, |priority| priority.min(workload.priority)));
        }
        Self { cycle, mode, action, plugins, fruitless: FastMap::default(), lowest, returns: ReclaimRecord::default() }
    }

    /// Plans for every workload that waits, in order.
    pub fn run(mut self) {
        // Starts since then may have taken the room of workloads that would have delayed the reserved one.
        self.cycle.delays.clear();
        let mut waiting: Vec<usize> =
            (0..self.cycle.progress.len()).filter(|workload| self.cycle.awaits_minimum(*workload)).collect();
        waiting.sort_unstable_by_key(|workload| self.cycle.progress[*workload].position);
        for workload in waiting {
            if self.wants_plan(workload) {
                self.plan_for(workload);
            }
        }
    }

    /// True if the workload may start by eviction. One whose blocker has started gets its own turn first, and so does one that
    /// would have delayed the reserved workload, or whose queue waits no longer for others: it may wait for room by now.
    fn wants_plan(&mut self, workload: usize) -> bool {
        let has_started = |other: usize| !self.cycle.awaits_minimum(other);
        match self.cycle.progress[workload].reason {
            Some(NotedReason::Behind(other)) if has_started(other) => {}
            Some(NotedReason::Reserved { .. }) => {}
            Some(NotedReason::QueueShare(_)) if self.keeps_back(workload).is_none() => {}
            Some(NotedReason::Depth) if !self.cycle.settings.has("allocate") => {}
            Some(ref reason) => return reason.may_evict(),
            None => return false,
        }
        if !self.cycle.give_turn(workload) {
            return false;
        }
        let is_strict = self.cycle.settings.backfill == BackfillMode::Nothing;
        if let Some(blocker) = self.cycle.blocker_of(workload).filter(|_| is_strict) {
            self.cycle.wait(workload, self.action, NotedReason::Behind(blocker));
            return false;
        }
        let attempted = AttemptOptions { action: self.action, heeds_share: false, may_start: true };
        self.cycle.consider(workload, attempted);
        self.cycle.progress[workload].reason.as_ref().is_some_and(NotedReason::may_evict)
    }

    /// The queue that has its share while others claim room, from that of the workload upwards.
    fn keeps_back(&self, workload: usize) -> Option<usize> {
        self.cycle.claims.keeps_back(&self.cycle.turn, self.cycle.facts.workloads[workload].queue)
    }

    fn plan_for(&mut self, workload: usize) {
        let facts = self.cycle.facts;
        let waiting = &facts.workloads[workload];
        let takes_idle_room = !matches!(self.cycle.progress[workload].reason, Some(NotedReason::QueueShare(_)));
        let leaves_room = self.cycle.must_leave_room(workload);
        let input = waiting.input;
        let lost = self.cycle.progress[workload].lost.len();
        let key = (waiting.queue, waiting.shape, input.priority, input.preemptible, takes_idle_room, leaves_room, lost);
        let changes = self.cycle.changes;
        let known = self.fruitless.get(&key).filter(|(at, _)| *at == changes).map(|(_, none)| none.clone());
        let none = match known {
            Some(none) => none,
            None => match self.search(workload, takes_idle_room) {
                Ok(found) => match self.carry_out(workload, &found, takes_idle_room) {
                    Ok(()) => return,
                    Err(none) => none,
                },
                Err(none) => none,
            },
        };
        self.fruitless.insert(key, (changes, none.clone()));
        let progress = &mut self.cycle.progress[workload];
        let waits_for_room = progress.reason.as_ref().is_some_and(NotedReason::is_for_room);
        match none {
            NoVictims::Refused(refusal) if waits_for_room && self.mode == EvictionMode::Reclaim => {
                progress.reason = Some(NotedReason::ReclaimRefused(refusal));
            }
            NoVictims::Exhausted if !matches!(progress.reason, Some(NotedReason::ReclaimRefused(_))) => {
                progress.reason = Some(NotedReason::Budget);
            }
            _ => {}
        }
    }

    fn search(&mut self, workload: usize, takes_idle_room: bool) -> Result<FoundVictims, NoVictims> {
        let facts = self.cycle.facts;
        let waiting = &facts.workloads[workload];
        let request = self.cycle.progress[workload].need(facts, workload).into_owned();
        if self.cycle.checks_quota && !waiting.input.preemptible {
            let over = self.cycle.held.over_quota(&self.cycle.turn.tree, waiting.queue, &request);
            if over.is_some() {
                return Err(NoVictims::NotAsked);
            }
        }
        let has_lower = || self.lowest[waiting.queue].is_some_and(|lowest| lowest < waiting.input.priority);
        if self.mode == EvictionMode::Preempt && !has_lower() {
            return Err(NoVictims::NotAsked);
        }
        let cycle = &mut *self.cycle;
        let pending = pending(cycle, workload);
        let input = ReclaimInput {
            tree: &cycle.turn.tree,
            fair_share: cycle.turn.fair_share,
            running: &cycle.running.workloads,
            pending: &pending,
            agents: cycle.running.agents.as_deref(),
            options: cycle.plan_options,
            now: facts.now,
        };
        let snapshot = ReclaimSnapshot::of(&input, waiting.queue, Arc::clone(&cycle.running.index));
        let policy: Box<dyn EvictionPolicy + '_> = match (self.mode, cycle.plan_options.policy) {
            (EvictionMode::Preempt, _) => Box::new(PreemptionPolicy { queue: waiting.queue }),
            (EvictionMode::Reclaim, PolicyName::Strategies) => Box::new(StrategyPolicy::new(&snapshot, &request)),
            (EvictionMode::Reclaim, PolicyName::Plugins) => Box::new(PluginTiers::new(&snapshot)),
        };
        if policy.gate(&QueueHoldings::new(&snapshot, request.clone())).is_err() {
            return Err(NoVictims::NotAsked);
        }
        let classes = classes(cycle, workload);
        cycle.budget.pay(snapshot.jobs.len() + facts.rows).map_err(|_| NoVictims::Exhausted)?;
        let mut free = cycle.room.free_of_all().clone();
        if !takes_idle_room {
            free.cap_at(0);
        }
        let free = (free, facts.total.clone());
        let free = FreeCapacity::with_amounts(free, facts.rows, &self.plugins, cycle.plan_options.node_order);
        let attempt = SearchAttempt {
            snapshot: &snapshot,
            classes: &classes,
            request: &request,
            free,
            explains_candidates: false,
        };
        match attempt.search(self.mode, &*policy, &mut cycle.budget) {
            Ok(found) => Ok(FoundVictims { victims: found.victims, units: found.units, placed: found.placed }),
            Err(SearchFailure::Exhausted) => Err(NoVictims::Exhausted),
            Err(SearchFailure::Refused(lines)) => {
                let refusal = match lines.into_iter().next() {
                    Some(line) => line,
                    None if !can_be_given_back(cycle, waiting.queue, &request) => return Err(NoVictims::NotAsked),
                    None => EvictionDenial::plain(ReclaimRule::NoCandidate, waiting.queue).shown(&snapshot, None),
                };
                Err(NoVictims::Refused(Box::new(refusal)))
            }
        }
    }

    /// Evicts and starts, or changes nothing.
    fn carry_out(&mut self, workload: usize, found: &FoundVictims, takes_idle_room: bool) -> Result<(), NoVictims> {
        let seats: Vec<(usize, usize)> = found.units.iter().flat_map(|unit| self.cycle.running.seats(unit)).collect();
        self.vacate(&seats, true);
        let Some(placed) = self.seat(workload, found, takes_idle_room) else {
            self.vacate(&seats, false);
            return Err(NoVictims::NotAsked);
        };
        let asked = self.cycle.asked(workload, &placed);
        if let Err(none) = self.check(workload, found, &placed, &asked, &seats) {
            undo(&mut self.cycle.room, workload, &placed, None);
            self.vacate(&seats, false);
            return Err(none);
        }
        self.withhold(&seats, workload, &placed);
        self.note_evictions(workload, found, &seats);
        self.cycle.start(workload, &placed, self.action, false);
        Ok(())
    }

    /// Takes members away from their agents and queues, or puts them back.
    fn vacate(&mut self, seats: &[(usize, usize)], leave: bool) {
        let cycle = &mut *self.cycle;
        let facts = cycle.facts;
        for (running, member) in seats.iter().copied() {
            let seat = &facts.seats[running][member];
            let footprint = running_footprint(facts, &cycle.room, running, &seat.request);
            let mut amounts = vec![Amount::ZERO; facts.capacity.len()];
            add_times(&mut amounts, &seat.request, 1);
            let queue = cycle.running.queues()[running];
            let preemptible = facts.preemptible[running];
            if leave {
                cycle.room.take_away(footprint, seat.agent);
                cycle.held.subtract(&cycle.turn.tree, queue, &amounts, preemptible);
            } else {
                cycle.room.put(footprint, seat.agent);
                cycle.held.add(&cycle.turn.tree, queue, &amounts, preemptible);
            }
            cycle.show_holdings(queue);
        }
    }

    /// Puts the members on agents: by the scores, else as the search did, provided that the predicates allow it.
    fn seat(&mut self, workload: usize, found: &FoundVictims, takes_idle_room: bool) -> Option<Vec<SeatedMember>> {
        let cycle = &mut *self.cycle;
        let shape = cycle.facts.shape_of(workload);
        let progress = &cycle.progress[workload];
        let groups = needed_groups(cycle.facts, shape, progress);
        let (used, number) = (progress.used.clone(), progress.missing(shape));
        let wanted = PlacementRequest { workload, used: &used, number, group: None };
        if (takes_idle_room || cycle.facts.only_totals)
            && let Ok(placed) = place(&mut cycle.room, wanted, None)
        {
            return Some(placed);
        }
        let mut placed = Vec::with_capacity(groups.len());
        let mut pairs = found.placed.clone();
        pairs.sort_unstable();
        for (member, agent) in pairs {
            let group = *groups.get(member)?;
            let kind = shape.groups[group].kind;
            if !cycle.room.admits(workload, kind, agent) || !cycle.room.has_room(kind, agent) {
                undo(&mut cycle.room, workload, &placed, None);
                return None;
            }
            cycle.room.put(cycle.room.footprint(workload, kind), agent);
            placed.push(SeatedMember { group, agent });
        }
        Some(placed)
    }

    /// Withholds what the victims free and the start does not use, by agent and slot.
    fn withhold(&mut self, seats: &[(usize, usize)], workload: usize, placed: &[SeatedMember]) {
        let cycle = &mut *self.cycle;
        let facts = cycle.facts;
        let shape = facts.shape_of(workload);
        let mut spare: std::collections::BTreeMap<(usize, usize), i128> = std::collections::BTreeMap::new();
        let signed = |units: u128| i128::try_from(units).unwrap_or(i128::MAX);
        for (running, member) in seats {
            let seat = &facts.seats[*running][*member];
            for (column, units) in seat.request.iter().filter(|_| seat.agent < facts.rows) {
                *spare.entry((seat.agent, *column)).or_default() += signed(*units);
            }
        }
        for member in placed {
            for (column, units) in &facts.kinds[shape.groups[member.group].kind].request {
                if let Some(left) = spare.get_mut(&(member.agent, *column)) {
                    *left -= signed(*units);
                }
            }
        }
        for ((agent, column), left) in spare.into_iter().filter(|(_, left)| *left > 0) {
            cycle.room.change_free(agent, &[(column, left.unsigned_abs())], -1);
        }
    }

    fn note_evictions(&mut self, workload: usize, found: &FoundVictims, seats: &[(usize, usize)]) {
        if found.units.is_empty() {
            return;
        }
        let cycle = &mut *self.cycle;
        let beneficiary = &cycle.facts.workloads[workload].input.workload_id;
        cycle.note(workload, self.action, "evicted_for", seats.len());
        let evict = |victim: &Victim| {
            let (victim, beneficiary) = (victim.clone(), Arc::clone(beneficiary));
            CycleEviction { victim, action: self.action, beneficiary }
        };
        cycle.evictions.extend(found.victims.iter().map(evict));
        cycle.running.evict(&cycle.turn.tree, seats);
        for (running, member) in seats {
            if let Some(rest) = cycle.facts.rests[*running] {
                cycle.note_lost(rest, *running, *member);
            }
        }
        let gone: FastSet<(usize, usize)> = seats.iter().copied().collect();
        cycle.endings.retain(|ending| ending.seat.is_none_or(|seat| !gone.contains(&seat)));
        cycle.evicting_plans += 1;
    }
}

/// The pending workload as the search of plans knows it. Its members are in the classes.
pub fn pending(cycle: &CycleState, workload: usize) -> PendingGang {
    let waiting = &cycle.facts.workloads[workload];
    PendingGang {
        workload_id: Arc::clone(&waiting.input.workload_id),
        queue: Arc::clone(&cycle.turn.tree.queues[waiting.queue].name),
        priority: waiting.input.priority,
        preemptible: waiting.input.preemptible,
        created_at: None,
        gang_min: None,
        members: Vec::new(),
    }
}

/// The groups of the members that the minimum still needs, one entry for each member, in task order.
fn needed_groups(facts: &ResolvedRequest, shape: &WorkloadShape, progress: &WorkloadProgress) -> Vec<usize> {
    let able = shape.groups.iter().enumerate().filter(|(_, group)| facts.kinds[group.kind].could_run);
    let waiting = able.flat_map(|(at, group)| std::iter::repeat_n(at, group.count - progress.used[at]));
    waiting.take(progress.missing(shape)).collect()
}

/// The members of the minimum in classes of equal ones, the largest first.
fn classes(cycle: &CycleState, workload: usize) -> Vec<PendingClass> {
    let facts = cycle.facts;
    let shape = facts.shape_of(workload);
    if facts.only_totals {
        let need = cycle.progress[workload].need(facts, workload);
        let cells = need.iter().enumerate().filter(|(_, amount)| !amount.is_zero());
        let request = cells.map(|(column, amount)| (column, amount.units())).collect();
        return vec![PendingClass { request, members: vec![0], allowed: vec![usize::MAX] }];
    }
    let mut classes: Vec<(usize, PendingClass)> = Vec::new();
    let mut known: FastMap<usize, usize> = FastMap::default();
    for (member, group) in needed_groups(facts, shape, &cycle.progress[workload]).into_iter().enumerate() {
        let kind = shape.groups[group].kind;
        if let Some(at) = known.get(&kind) {
            classes[*at].1.members.push(member);
            continue;
        }
        known.insert(kind, classes.len());
        let keeps_from_itself = shape.against.iter().any(|term| shape.matching.contains(term));
        let allowed = |agent: usize| {
            if !cycle.room.admits(workload, kind, agent) {
                return 0;
            }
            let own = cycle.room.members_on(workload, agent);
            let most = shape.max_per_agent.map_or(usize::MAX, |most| most.saturating_sub(own));
            if keeps_from_itself { most.min(1) } else { most }
        };
        let request = facts.kinds[kind].request.clone();
        classes.push((
            kind,
            PendingClass { request, members: vec![member], allowed: (0..facts.rows).map(allowed).collect() },
        ));
    }
    let size = |kind: usize| -> Fraction { facts.kinds[kind].size };
    classes.sort_by_key(|(kind, _)| std::cmp::Reverse(size(*kind)));
    classes.into_iter().map(|(_, class)| class).collect()
}

/// True if other queues hold room that is missing. Otherwise the workload waits for what is free on too many agents, or for
/// its own queue, and nothing that it deserves is held by others.
fn can_be_given_back(cycle: &CycleState, queue: usize, request: &[Amount]) -> bool {
    let (facts, free) = (cycle.facts, cycle.room.free_of_all());
    let free = |column: usize| (0..facts.rows).map(|agent| free[(agent, column)].max(0).unsigned_abs()).sum::<u128>();
    let is_missing = request.iter().enumerate().any(|(column, asked)| asked.units() > free(column));
    is_missing && facts.running_queues.iter().any(|of| *of != queue)
}
