//! `allocate`: workloads start in order into free room.

use super::{ActionPhase, CycleAction};
use crate::cycle::order::queues::QueueTurns;
use crate::cycle::state::{AttemptOptions, CycleState};

/// Starts workloads in order until one waits for room: it stands before all others, or before those of its queue.
pub(super) struct AllocateAction;

impl CycleAction for AllocateAction {
    fn name(&self) -> &'static str {
        "allocate"
    }

    fn phase(&self) -> ActionPhase {
        ActionPhase::InOrder
    }

    fn run(&self, cycle: &mut CycleState, is_chosen: bool) {
        if cycle.settings.by_queues { by_queues(cycle, is_chosen) } else { by_sequencer(cycle, is_chosen) }
    }
}

fn consider(cycle: &mut CycleState, workload: usize, may_start: bool) {
    // A workload that asks for nothing takes no room from others, so it waits for no share.
    let is_free = cycle.is_free(workload);
    let action = if is_free { "backfill" } else { "allocate" };
    let heeds_share = !is_free && cycle.heeds_shares();
    cycle.consider(workload, AttemptOptions { action, heeds_share, may_start: may_start || is_free });
}

fn by_sequencer(cycle: &mut CycleState, may_start: bool) {
    let order = std::mem::take(&mut cycle.order);
    for workload in order.iter().copied().filter(|workload| cycle.never[*workload].is_none()).collect::<Vec<_>>() {
        if !cycle.give_turn(workload) || !cycle.awaits_minimum(workload) {
            continue;
        }
        if cycle.blocker_for(cycle.facts.workloads[workload].queue).is_some() {
            cycle.deferred.push(workload);
        } else {
            consider(cycle, workload, may_start);
        }
    }
    cycle.order = order;
}

fn by_queues(cycle: &mut CycleState, may_start: bool) {
    let facts = cycle.facts;
    let workloads: Vec<usize> = (0..cycle.progress.len()).filter(|workload| cycle.awaits_minimum(*workload)).collect();
    let order = (cycle.settings.by_score, cycle.score_weights);
    let mut turns = QueueTurns::new((facts, &cycle.progress, &mut cycle.turn), workloads.into_iter(), order);
    while let Some(workload) = turns.take() {
        let queue = facts.workloads[workload].queue;
        if cycle.give_turn(workload) {
            consider(cycle, workload, may_start);
            if cycle.blocker_for(queue).is_some() {
                cycle.deferred.extend(turns.drain(queue));
            }
        }
        turns.settle(facts, &cycle.progress, &mut cycle.turn, queue);
    }
}
