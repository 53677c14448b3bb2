//! The sums of what descendants hold and ask for, for every parent for which no figure is given (DIVISION §1).

use super::QueueTree;
use super::warning::DivisionWarning;
use crate::queues::QueueSpec;

/// Adds the request and the allocation of every queue to those of its parent. A figure that is given for a queue
/// replaces the sum. A given request stays as it is even below the allocation; otherwise the request is at least a
/// given allocation.
pub fn add_up(tree: &mut QueueTree, specs: &[QueueSpec]) {
    for at in (0..tree.top_down.len()).rev() {
        let queue = tree.top_down[at];
        take_given(tree, queue, &specs[queue]);
        if let Some(parent) = tree.queues[queue].parent {
            for grid in [&mut tree.request, &mut tree.allocated, &mut tree.allocated_non_preemptible] {
                grid.add_row(queue, parent);
            }
        }
    }
}

fn take_given(tree: &mut QueueTree, queue: usize, spec: &QueueSpec) {
    let given = &spec.given;
    for (grid, map) in [
        (&mut tree.request, &given.request),
        (&mut tree.allocated, &given.allocated),
        (&mut tree.allocated_non_preemptible, &given.allocated_non_preemptible),
    ] {
        if let Some(map) = map {
            grid.set(queue, &tree.slots, map);
        }
    }
    if given.request.is_none() && given.allocated.is_none() {
        return;
    }
    for (column, slot) in tree.slots.iter().copied().enumerate() {
        let cell = (queue, column);
        if tree.request[cell] < tree.allocated[cell] {
            if given.request.as_ref().is_some_and(|request| request.get(slot).is_some()) {
                tree.raised.push(DivisionWarning::request_below_allocation(&spec.config.name, slot));
            } else if given.allocated.as_ref().is_some_and(|allocated| allocated.get(slot).is_some()) {
                tree.request[cell] = tree.allocated[cell];
            }
        }
    }
}

/// Adds the usage of every queue to that of its parent.
pub fn add_up_usage(tree: &mut QueueTree) {
    for queue in tree.top_down.iter().rev().copied() {
        if let Some(parent) = tree.queues[queue].parent {
            tree.usage.add_row(queue, parent);
        }
    }
}
