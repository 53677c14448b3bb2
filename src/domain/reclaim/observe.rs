//! What queues hold and ask for, from the workloads (§1): a figure that a queue gives itself wins.

use super::input::{Pending, Workload};
use crate::domain::decimal::Amount;
use crate::domain::division::{Grid, QueueSpec, Tree, TreeFault, Warning};
use crate::domain::slots::Amounts;

/// A queue's own figures, and sums over its descendants once they are added up.
struct Observed {
    request: Grid<Amount>,
    allocated: Grid<Amount>,
    non_preemptible: Grid<Amount>,
}

/// The tree with demand and allocation as the workloads make them; the pending workload counts as demand. Slots that
/// only workloads name are slots without capacity.
pub fn observed_tree(
    specs: Vec<QueueSpec>,
    capacity: &Amounts,
    running: &[Workload],
    pending: Option<&Pending>,
) -> Result<Tree, Vec<TreeFault>> {
    let given: Vec<_> = specs
        .iter()
        .map(|s| [&s.request, &s.allocated, &s.allocated_non_preemptible].map(|map| map.clone().unwrap_or_default()))
        .collect();
    let mut tree = Tree::build(specs, &with_slots_of(capacity, running, pending))?;
    let mut observed = own_figures(&tree, running, pending)?;
    tree.raised.clear();
    for queue in tree.top_down().to_vec().into_iter().rev() {
        settle(&mut tree, &mut observed, queue, &given[queue]);
    }
    Ok(tree)
}

fn with_slots_of(capacity: &Amounts, running: &[Workload], pending: Option<&Pending>) -> Amounts {
    let mut all = capacity.clone();
    let members = running.iter().flat_map(|w| w.members.iter().map(|m| &m.slots));
    let asked = pending.into_iter().flat_map(|p| p.members.iter().map(|m| &m.slots));
    for slots in members.chain(asked) {
        for (slot, _) in slots.iter() {
            if all.get(slot).is_none() {
                all.set(slot, Amount::ZERO);
            }
        }
    }
    all
}

fn own_figures(tree: &Tree, running: &[Workload], pending: Option<&Pending>) -> Result<Observed, Vec<TreeFault>> {
    let zeros = Grid::new(tree.len(), tree.slots.len(), Amount::ZERO);
    let mut own = Observed { request: zeros.clone(), allocated: zeros.clone(), non_preemptible: zeros };
    let mut faults = Vec::new();
    for (at, workload) in running.iter().enumerate() {
        let Some(queue) = tree.find(&workload.queue) else {
            faults.push(TreeFault::unknown_queue(&format!("/running/{at}"), &workload.queue));
            continue;
        };
        for member in &workload.members {
            add(tree, &mut own.request, queue, &member.slots);
            add(tree, &mut own.allocated, queue, &member.slots);
            if !workload.preemptible {
                add(tree, &mut own.non_preemptible, queue, &member.slots);
            }
        }
    }
    if let Some(pending) = pending {
        match tree.find(&pending.queue) {
            Some(queue) => pending.members.iter().for_each(|m| add(tree, &mut own.request, queue, &m.slots)),
            None => faults.push(TreeFault::unknown_queue("/pending", &pending.queue)),
        }
    }
    faults.truncate(100);
    if faults.is_empty() { Ok(own) } else { Err(faults) }
}

fn add(tree: &Tree, grid: &mut Grid<Amount>, queue: usize, slots: &Amounts) {
    for (slot, amount) in slots.iter() {
        if let Some(column) = tree.column(slot) {
            grid[(queue, column)] = grid[(queue, column)].saturating_add(amount);
        }
    }
}

/// Children are settled before their parent.
fn settle(tree: &mut Tree, observed: &mut Observed, queue: usize, [request, allocated, fixed]: &[Amounts; 3]) {
    for (column, slot) in tree.slots.clone().into_iter().enumerate() {
        let cell = (queue, column);
        let figure = |given: &Amounts, sums: &Grid<Amount>| given.get(slot).unwrap_or(sums[cell]);
        tree.allocated[cell] = figure(allocated, &observed.allocated);
        tree.allocated_non_preemptible[cell] = figure(fixed, &observed.non_preemptible);
        tree.request[cell] = figure(request, &observed.request);
        if tree.request[cell] < tree.allocated[cell] {
            if request.get(slot).is_some() {
                let warning = Warning::request_below_allocation(tree.name(queue), slot);
                tree.raised.push(warning);
            } else if allocated.get(slot).is_some() {
                tree.request[cell] = tree.allocated[cell];
            }
        }
        if let Some(parent) = tree.queues[queue].parent {
            for (sums, figure) in [
                (&mut observed.request, tree.request[cell]),
                (&mut observed.allocated, tree.allocated[cell]),
                (&mut observed.non_preemptible, tree.allocated_non_preemptible[cell]),
            ] {
                sums[(parent, column)] = sums[(parent, column)].saturating_add(figure);
            }
        }
    }
}
