//! `backfill`: smaller workloads start behind one that waits for room.

use super::{Action, Phase};
use crate::cycle::order::queues::QueueTurns;
use crate::cycle::reasons::Reason;
use crate::cycle::request::options::Backfill;
use crate::cycle::state::{Attempted, Cycle};

/// Goes on behind workloads that wait for room: with whatever fits, or with what does not delay the reserved one.
pub(super) struct Fill;

impl Action for Fill {
    fn name(&self) -> &'static str {
        "backfill"
    }

    fn phase(&self) -> Phase {
        Phase::Behind
    }

    fn run(&self, cycle: &mut Cycle, is_chosen: bool) {
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

fn go_on(cycle: &mut Cycle, workload: usize, is_chosen: bool) {
    let is_free = is_chosen && cycle.facts.asks_for_nothing(workload);
    if cycle.settings.backfill == Backfill::Nothing && !is_free {
        let queue = cycle.facts.workloads[workload].queue;
        let blocker = if cycle.settings.by_queues { cycle.blockers[queue] } else { cycle.blocker };
        cycle.wait(workload, "backfill", blocker.map_or(Reason::Depth, Reason::Behind));
        return;
    }
    let heeds_share = !is_free && cycle.heeds_shares();
    cycle.consider(workload, Attempted { action: "backfill", heeds_share, may_start: true });
}
