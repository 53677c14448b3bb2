//! `backfill`: smaller workloads start behind one that waits for room.

use super::{ActionPhase, CycleAction};
use crate::cycle::order::queues::QueueTurns;
use crate::cycle::reasons::NotedReason;
use crate::cycle::request::options::BackfillMode;
use crate::cycle::state::{AttemptOptions, CycleState};

/// Goes on behind workloads that wait for room: with whatever fits, or with what does not delay the reserved one.
pub(super) struct BackfillAction;

impl CycleAction for BackfillAction {
    fn name(&self) -> &'static str {
        "backfill"
    }

    fn phase(&self) -> ActionPhase {
        ActionPhase::Behind
    }

    fn run(&self, cycle: &mut CycleState, is_chosen: bool) {
        let facts = cycle.facts;
        let deferred = std::mem::take(&mut cycle.deferred);
        if !cycle.settings.by_queues {
            for workload in deferred {
                go_on(cycle, workload, is_chosen);
            }
            return;
        }
        let order = (cycle.settings.by_score, cycle.score_weights);
        let mut turns = QueueTurns::new((facts, &cycle.progress, &mut cycle.turn), deferred.into_iter(), order);
        while let Some(workload) = turns.take() {
            if cycle.give_turn(workload) {
                go_on(cycle, workload, is_chosen);
            }
            turns.settle(facts, &cycle.progress, &mut cycle.turn, facts.workloads[workload].queue);
        }
    }
}

fn go_on(cycle: &mut CycleState, workload: usize, is_chosen: bool) {
    let is_free = is_chosen && cycle.facts.asks_for_nothing(workload);
    if cycle.settings.backfill == BackfillMode::Nothing && !is_free {
        let blocker = cycle.blocker_for(cycle.facts.workloads[workload].queue);
        cycle.wait(workload, "backfill", blocker.map_or(NotedReason::Depth, NotedReason::Behind));
        return;
    }
    let heeds_share = !is_free && cycle.heeds_shares();
    cycle.consider(workload, AttemptOptions { action: "backfill", heeds_share, may_start: true });
}
