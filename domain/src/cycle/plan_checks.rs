//! The checks of a plan that the search for its victims cannot make, because they look at the whole cycle (CYCLE §5).

use std::sync::Arc;

use super::facts::add_times;
use super::placement::SeatedMember;
use super::plans::{FoundVictims, NoVictims, PlanRun, ReclaimRecord, pending};
use super::state::running_footprint;
use crate::decimal::Amount;
use crate::reclaim::holdings::QueueHoldings;
use crate::reclaim::policy::strategies::StrategyPolicy;
use crate::reclaim::search::EvictionMode;
use crate::reclaim::snapshot::ReclaimSnapshot;
use crate::reclaim::{PendingGang, PolicyName, ReclaimInput};

impl PlanRun<'_, '_> {
    /// Checks what the search could not know: what else the start asks for, the reservation, and that no queue takes back
    /// at once what any plan of this cycle took from it.
    pub fn check(
        &mut self,
        workload: usize,
        found: &FoundVictims,
        placed: &[SeatedMember],
        asked: &[Amount],
        seats: &[(usize, usize)],
    ) -> Result<(), NoVictims> {
        if self.cycle.check_bounds(workload, asked).is_err() {
            return Err(NoVictims::NotAsked);
        }
        let before = self.returns.clone();
        let evicts_for_others = self.note_gone(workload, found);
        let is_first = before.reclaimers.is_empty() || !evicts_for_others;
        let mut result = if is_first { Ok(()) } else { self.nothing_returns(workload, asked) };
        if result.is_ok() && self.delays_reserved(workload, placed, asked, seats) {
            result = Err(NoVictims::NotAsked);
        }
        if result.is_err() {
            self.returns = before;
        }
        result
    }

    /// Notes what a reclaim takes from which queues, in the order of their names, so that the first one that could take
    /// something back does not depend on the order of the request. Preemptions take nothing from other queues. Returns true
    /// if something was noted.
    fn note_gone(&mut self, workload: usize, found: &FoundVictims) -> bool {
        let is_reclaim = !found.units.is_empty() && self.mode == EvictionMode::Reclaim;
        if !is_reclaim || self.cycle.plan_options.policy != PolicyName::Strategies {
            return false;
        }
        let facts = self.cycle.facts;
        let ReclaimRecord { reclaimers, gone } = &mut self.returns;
        reclaimers.push(facts.workloads[workload].queue);
        for unit in &found.units {
            let mut amounts = vec![Amount::ZERO; facts.capacity.len()];
            for (running, member) in self.cycle.running.seats(unit) {
                add_times(&mut amounts, &facts.seats[running][member].request, 1);
            }
            gone.push((unit.queue, amounts));
        }
        let name = |queue: usize| &self.cycle.turn.tree.queues[queue].name;
        reclaimers.sort_unstable_by_key(|queue| name(*queue));
        reclaimers.dedup();
        gone.sort_unstable_by(|a, b| (name(a.0), &a.1).cmp(&(name(b.0), &b.1)));
        gone.dedup();
        true
    }

    /// The no-ping-pong law over the whole cycle, with the start counted.
    fn nothing_returns(&mut self, workload: usize, asked: &[Amount]) -> Result<(), NoVictims> {
        let facts = self.cycle.facts;
        let waiting = &facts.workloads[workload];
        self.cycle.hold(workload, asked);
        let result = self.find_return(&pending(self.cycle, workload));
        let cycle = &mut *self.cycle;
        cycle.held.subtract(&cycle.turn.tree, waiting.queue, asked, waiting.input.preemptible);
        cycle.show_holdings(waiting.queue);
        result
    }

    fn find_return(&mut self, pending: &PendingGang) -> Result<(), NoVictims> {
        let Self { cycle, returns, .. } = self;
        let input = ReclaimInput {
            tree: &cycle.turn.tree,
            fair_share: cycle.turn.fair_share,
            running: &cycle.running.workloads,
            pending,
            agents: cycle.running.agents.as_deref(),
            options: cycle.plan_options,
            now: cycle.facts.now,
        };
        let nothing = vec![Amount::ZERO; cycle.facts.capacity.len()];
        let mut losers: Vec<usize> = returns.gone.iter().map(|(queue, _)| *queue).collect();
        losers.dedup();
        for reclaimer in &returns.reclaimers {
            let cost = input.tree.len() + returns.gone.len();
            cycle.budget.pay(cost).map_err(|_| NoVictims::Exhausted)?;
            let snapshot = ReclaimSnapshot::of(&input, *reclaimer, Arc::clone(&cycle.running.index));
            let mut holdings = QueueHoldings::new(&snapshot, nothing.clone());
            for (queue, amounts) in &returns.gone {
                holdings.note_gone(*queue, amounts.clone());
            }
            let strategies = StrategyPolicy::new(&snapshot, &nothing);
            let returning = |queue: &usize| strategies.could_return(&holdings, *queue);
            if let Some(denied) = losers.iter().find_map(returning) {
                return Err(NoVictims::Refused(Box::new(denied.shown(&snapshot, None))));
            }
        }
        Ok(())
    }

    /// True if the reserved workload would not have its room at its time. Otherwise its future knows the start.
    fn delays_reserved(
        &mut self,
        workload: usize,
        placed: &[SeatedMember],
        asked: &[Amount],
        seats: &[(usize, usize)],
    ) -> bool {
        let cycle = &mut *self.cycle;
        let facts = cycle.facts;
        let must_leave_room = cycle.must_leave_room(workload);
        let Some(reservation) = cycle.reservation.as_mut().filter(|known| known.workload != workload) else {
            return false;
        };
        let stays = |running: usize| facts.ends[running].is_none_or(|end| end > reservation.at);
        let still_there: Vec<(usize, usize)> = seats.iter().copied().filter(|(running, _)| stays(*running)).collect();
        for (running, member) in still_there.iter().copied() {
            let seat = &facts.seats[running][member];
            reservation.take_away(running_footprint(facts, &cycle.room, running, &seat.request), seat.agent);
            let queue = cycle.running.queues()[running];
            reservation.holdings.remove(&cycle.turn.tree, queue, &seat.request, facts.preemptible[running]);
        }
        if !must_leave_room {
            return false;
        }
        let shape = facts.shape_of(workload);
        for member in placed {
            reservation.put(cycle.room.footprint(workload, shape.groups[member.group].kind), member.agent);
        }
        if reservation.leaves_bounds(&cycle.turn.tree, workload, asked) && reservation.has_room() {
            return false;
        }
        for member in placed {
            reservation.take_away(cycle.room.footprint(workload, shape.groups[member.group].kind), member.agent);
        }
        for (running, member) in still_there {
            let seat = &facts.seats[running][member];
            reservation.put(running_footprint(facts, &cycle.room, running, &seat.request), seat.agent);
            let mut amounts = vec![Amount::ZERO; facts.capacity.len()];
            add_times(&mut amounts, &seat.request, 1);
            let queue = cycle.running.queues()[running];
            reservation.holdings.add(&cycle.turn.tree, queue, &amounts, facts.preemptible[running]);
        }
        true
    }
}
