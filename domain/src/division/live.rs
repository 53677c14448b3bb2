//! The queue tree of a group as it stands, built from configured queues and from what kernels hold and ask for
//! (DIVISION §1).

use std::collections::BTreeSet;

use super::tree::warning::DivisionWarning;
use super::tree::{QueueTree, sums};
use crate::decimal::Amount;
use crate::fault::Fault;
use crate::queues::{ClaimSums, QueueConfigs, QueueSpec};
use crate::slots::{MAX_SLOTS, SlotAmounts, SlotName};

/// The observed input of a tree, by name of queue.
#[derive(Clone, Debug, Default)]
pub struct ObservedQueues<'a> {
    pub held: Vec<(&'a str, &'a ClaimSums)>,
    /// Decayed usage as a part of the equally decayed capacity, by slot (DIVISION §2.5).
    pub usage: Vec<(&'a str, SlotAmounts)>,
}

/// Builds the tree; parents contain the figures of their descendants. A queue that has children may also hold something
/// itself.
pub fn live_tree(
    queues: &QueueConfigs,
    capacity: &SlotAmounts,
    observed: &ObservedQueues,
) -> Result<QueueTree, Vec<Fault>> {
    let specs = QueueSpec::of_group(queues);
    let (slots, left_out) = slots_of(queues, capacity, observed);
    let mut tree = QueueTree::lay_out(&specs, &slots)?;
    for (queue, held) in &observed.held {
        let Some(queue) = tree.find(queue) else { continue };
        tree.allocated.add(queue, &tree.slots, &held.allocated);
        tree.allocated_non_preemptible.add(queue, &tree.slots, &held.allocated_non_preemptible);
        for part in [&held.allocated, &held.pending] {
            tree.request.add(queue, &tree.slots, part);
        }
    }
    for (queue, usage) in &observed.usage {
        let Some(queue) = tree.find(queue) else { continue };
        tree.usage.add(queue, &tree.slots, usage);
    }
    sums::add_up(&mut tree, &specs);
    sums::add_up_usage(&mut tree);
    if left_out > 0 {
        let detail = format!("kernels name {left_out} slots more than the {MAX_SLOTS} that a division takes");
        tree.raised.push(DivisionWarning::new("too_many_slots", None, None, detail));
    }
    Ok(tree)
}

/// The capacity, extended by the slots that kernels ask for, up to [`MAX_SLOTS`]; and the number of slots beyond that.
fn slots_of(queues: &QueueConfigs, capacity: &SlotAmounts, observed: &ObservedQueues) -> (SlotAmounts, usize) {
    let mut slots = capacity.clone();
    let mut known: BTreeSet<SlotName> = capacity.iter().map(|(slot, _)| slot).collect();
    for queue in queues.values() {
        known.extend(queue.quota.iter().map(|(slot, _)| slot));
        known.extend(queue.limit.iter().map(|(slot, _)| slot));
        known.extend(queue.guarantee.iter().map(|(slot, _)| slot));
    }
    let asked = observed.held.iter().flat_map(|(_, held)| held.allocated.iter().chain(held.pending.iter()));
    let asked: BTreeSet<SlotName> = asked.filter(|(_, amount)| !amount.is_zero()).map(|(slot, _)| slot).collect();
    let mut left_out = 0;
    for slot in asked {
        if !known.contains(&slot) {
            if known.len() >= MAX_SLOTS {
                left_out += 1;
                continue;
            }
            known.insert(slot);
            slots.set(slot, Amount::ZERO);
        }
    }
    (slots, left_out)
}
