//! The amounts that queues hold and ask for, summed from the workloads (DIVISION §1). A figure that is given for a
//! queue replaces the sum.

use super::input::{PendingGang, RunningWorkload};
use crate::decimal::Amount;
use crate::division::QueueTree;
use crate::division::tree::faults::unknown_queue;
use crate::division::tree::sums;
use crate::fault::{Fault, MAX_FAULTS};
use crate::queues::QueueSpec;
use crate::slots::SlotAmounts;

/// Builds the tree with the demand and the allocation of the workloads. The pending workload counts as demand. Slots
/// that only workloads name have no capacity.
pub fn observed_tree(
    specs: &[QueueSpec],
    capacity: &SlotAmounts,
    running: &[RunningWorkload],
    pending: Option<&PendingGang>,
) -> Result<QueueTree, Vec<Fault>> {
    let held = running.iter().flat_map(|w| w.members.iter().map(|m| &m.slots));
    let asked = pending.into_iter().flat_map(|p| p.members.iter().map(|m| &m.slots));
    let mut tree = QueueTree::lay_out(specs, &with_slots_of(capacity, held.chain(asked)))?;
    add_workloads(&mut tree, running, pending)?;
    sums::add_up(&mut tree, specs);
    Ok(tree)
}

/// The capacity, with the slots of which only members know: the group has none of them.
pub fn with_slots_of<'m>(capacity: &SlotAmounts, members: impl Iterator<Item = &'m SlotAmounts>) -> SlotAmounts {
    let mut all = capacity.clone();
    for (slot, _) in members.flat_map(SlotAmounts::iter) {
        if all.get(slot).is_none() {
            all.set(slot, Amount::ZERO);
        }
    }
    all
}

/// Adds to every queue what its own workloads hold and ask for.
fn add_workloads(
    tree: &mut QueueTree,
    running: &[RunningWorkload],
    pending: Option<&PendingGang>,
) -> Result<(), Vec<Fault>> {
    let mut faults = Vec::new();
    for (at, workload) in running.iter().enumerate() {
        let Some(queue) = tree.find(&workload.queue) else {
            faults.push(unknown_queue(&format!("/running/{at}"), &workload.queue));
            continue;
        };
        for member in &workload.members {
            tree.request.add(queue, &tree.slots, &member.slots);
            tree.allocated.add(queue, &tree.slots, &member.slots);
            if !workload.preemptible {
                tree.allocated_non_preemptible.add(queue, &tree.slots, &member.slots);
            }
        }
    }
    if let Some(pending) = pending {
        match tree.find(&pending.queue) {
            Some(queue) => pending.members.iter().for_each(|m| tree.request.add(queue, &tree.slots, &m.slots)),
            None => faults.push(unknown_queue("/pending", &pending.queue)),
        }
    }
    faults.truncate(MAX_FAULTS);
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}
