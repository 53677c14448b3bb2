//! Members above the minimum (CYCLE §5): once all minimums have had their turn, they follow one at a time.

use super::facts::add_times;
use super::order::queues::QueueTurns;
use super::placement::PlacementRequest;
use super::reasons::NotedReason;
use super::request::options::BackfillMode;
use super::state::CycleState;
use crate::decimal::Amount;

/// Starts what still fits of the workloads whose minimum runs.
pub fn run(cycle: &mut CycleState, heeds_share: bool) {
    let has_surplus = |cycle: &CycleState, workload: usize| {
        let (shape, progress) = (cycle.facts.shape_of(workload), &cycle.progress[workload]);
        cycle.never[workload].is_none() && progress.minimum_runs(shape) && progress.started < shape.most
    };
    if cycle.settings.by_queues {
        let workloads: Vec<usize> = (0..cycle.progress.len()).filter(|w| has_surplus(cycle, *w)).collect();
        let (facts, settings) = (cycle.facts, cycle.settings);
        let order = (settings.by_score, cycle.score_weights);
        let parts = (facts, &cycle.progress[..], &mut cycle.turn);
        let mut turns = QueueTurns::new(parts, workloads.into_iter(), order);
        while let Some(workload) = turns.take() {
            if start_one(cycle, workload, heeds_share) {
                turns.put_back(facts, &cycle.progress, workload);
            }
            turns.settle(facts, &cycle.progress, &mut cycle.turn, facts.workloads[workload].queue);
        }
    } else {
        let mut left: Vec<usize> = cycle.order.iter().copied().filter(|w| has_surplus(cycle, *w)).collect();
        while !left.is_empty() {
            left.retain(|workload| start_one(cycle, *workload, heeds_share));
        }
    }
}

/// Starts one member of the workload. Returns true if more may follow.
fn start_one(cycle: &mut CycleState, workload: usize, heeds_share: bool) -> bool {
    if !cycle.give_turn(workload) {
        return false;
    }
    let facts = cycle.facts;
    let shape = facts.shape_of(workload);
    let action = cycle.action_for(workload);
    let blocker = cycle.blocker_for(facts.workloads[workload].queue);
    if let Some(blocker) = blocker.filter(|_| cycle.settings.backfill == BackfillMode::Nothing) {
        cycle.wait(workload, action, NotedReason::Behind(blocker));
        return false;
    }
    let mut refused = None;
    let used = cycle.progress[workload].used.clone();
    for (at, group) in shape.groups.iter().enumerate() {
        if used[at] == group.count {
            continue;
        }
        let wanted = PlacementRequest { workload, used: &used, number: 1, group: Some(at) };
        let mut need = vec![Amount::ZERO; facts.capacity.len()];
        add_times(&mut need, &facts.kinds[group.kind].request, 1);
        match cycle.try_place(wanted, &need, heeds_share) {
            Ok(placed) => {
                cycle.start(workload, &placed, action, true);
                return cycle.progress[workload].started < shape.most;
            }
            Err(reason) => {
                refused.get_or_insert(reason);
            }
        }
    }
    if let Some(reason) = refused {
        cycle.wait(workload, action, reason);
    }
    false
}
