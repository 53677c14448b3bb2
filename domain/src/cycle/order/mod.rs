//! The order in which workloads get their turn (CYCLE §3).

pub mod claims;
pub mod queues;

use std::cmp::Reverse;

use super::facts::ResolvedRequest;

/// All workloads in the group's own order: by position, priority, submission and id.
pub fn by_sequencer(facts: &ResolvedRequest) -> Vec<usize> {
    let mut order: Vec<usize> = (0..facts.workloads.len()).collect();
    order.sort_by_cached_key(|workload| {
        let waiting = &facts.workloads[*workload];
        let position = waiting.input.position;
        (position.is_none(), position, Reverse(waiting.input.priority), waiting.age)
    });
    order
}
