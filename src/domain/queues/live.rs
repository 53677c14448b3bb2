//! The queue tree of a group as it stands: configuration, and what the kernels hold and ask for.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::config::QueueConfig;
use super::demand::Held;
use crate::domain::decimal::Amount;
use crate::domain::division::{Grid, Tree, TreeFault, Warning};
use crate::domain::ids::ProjectId;
use crate::domain::slots::{Amounts, MAX_SLOTS, SlotName};

/// Queues by name.
pub type Queues = BTreeMap<Arc<str>, QueueConfig>;

/// The queue of whoever has no other; it need not be configured.
pub const DEFAULT_QUEUE: &str = "default";

/// What is known of a project besides its id.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProjectNames<'a> {
    pub display_name: Option<&'a str>,
    pub domain: Option<&'a str>,
}

/// The queue of a workload (§1): the one it names, else the one called after its project (id or display name), else
/// after its domain, else `default`.
pub fn queue_of<'a>(
    queues: &'a Queues,
    named: Option<&str>,
    project: ProjectId,
    names: impl FnOnce() -> ProjectNames<'a>,
) -> &'a str {
    let find = |name: &str| queues.get_key_value(name).map(|(name, _)| &**name);
    named
        .and_then(find)
        .or_else(|| find(&project.to_string()))
        .or_else(|| {
            let names = names();
            names.display_name.and_then(find).or_else(|| names.domain.and_then(find))
        })
        .unwrap_or(DEFAULT_QUEUE)
}

/// What a tree is built from besides the configuration, by name of queue.
#[derive(Clone, Debug, Default)]
pub struct Observed<'a> {
    pub held: Vec<(&'a str, &'a Held)>,
    /// Decayed usage as a part of the equally decayed capacity, by slot (§2.5).
    pub usage: Vec<(&'a str, Amounts)>,
}

/// The tree with every queue's own figures and those of its descendants added up. A queue that has children may hold
/// something itself.
pub fn live_tree(queues: &Queues, capacity: &Amounts, observed: &Observed) -> Result<Tree, Vec<TreeFault>> {
    let mut specs: Vec<_> = queues.values().map(QueueConfig::spec).collect();
    if !queues.contains_key(DEFAULT_QUEUE) {
        specs.push(QueueConfig::named(DEFAULT_QUEUE).spec());
    }
    let (slots, left_out) = slots_of(queues, capacity, observed);
    let mut tree = Tree::build(specs, &slots)?;
    for (queue, held) in &observed.held {
        let Some(queue) = tree.find(queue) else { continue };
        add(&mut tree.allocated, &tree.slots, queue, &held.allocated);
        add(&mut tree.allocated_non_preemptible, &tree.slots, queue, &held.allocated_non_preemptible);
        for part in [&held.allocated, &held.pending] {
            add(&mut tree.request, &tree.slots, queue, part);
        }
    }
    for (queue, usage) in &observed.usage {
        let Some(queue) = tree.find(queue) else { continue };
        add(&mut tree.usage, &tree.slots, queue, usage);
    }
    for queue in tree.top_down().to_vec().into_iter().rev() {
        let Some(parent) = tree.queues[queue].parent else { continue };
        for grid in [&mut tree.request, &mut tree.allocated, &mut tree.allocated_non_preemptible, &mut tree.usage] {
            let (from, to) = grid.from_to(queue, parent);
            for (sum, amount) in to.iter_mut().zip(from) {
                *sum = sum.saturating_add(*amount);
            }
        }
    }
    if left_out > 0 {
        let detail = format!("kernels name {left_out} slots more than the {MAX_SLOTS} that a division takes");
        tree.raised.push(Warning::new("too_many_slots", None, None, detail));
    }
    Ok(tree)
}

fn add(grid: &mut Grid<Amount>, slots: &[SlotName], queue: usize, amounts: &Amounts) {
    for (slot, amount) in amounts.iter() {
        if let Some(column) = slots.iter().position(|s| *s == slot) {
            grid[(queue, column)] = grid[(queue, column)].saturating_add(amount);
        }
    }
}

/// The capacity with every slot that somebody asks for, as far as a tree takes them; and how many it does not.
fn slots_of(queues: &Queues, capacity: &Amounts, observed: &Observed) -> (Amounts, usize) {
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
