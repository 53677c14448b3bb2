//! Workloads that can never start as things are (CYCLE §3). They are found before the cycle, have no position, and keep no
//! place ahead of others.

use super::facts::{ResolvedRequest, ResolvedWorkload};
use super::placement::{PlacementRequest, place, undo};
use super::room::AgentOccupancy;
use super::shapes::MemberGroup;
use super::start_rules::{MemberFit, MemberLack, find_excess, find_lack};
use crate::decimal::Amount;
use crate::division::QueueTree;
use crate::queues::Bound;

/// The thing that a workload lacks for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImpedimentIndices {
    /// Too few members have an agent whose labels and taints they pass; a member of this kind has none.
    Predicates {
        kind: usize,
    },
    /// Too few members fit on such an agent when it is empty; a member of this kind does not.
    Agent {
        kind: usize,
    },
    Group {
        column: usize,
    },
    Queue {
        queue: usize,
        column: usize,
    },
    /// The number of members that fit at once on all empty agents.
    Members {
        fit: usize,
    },
}

impl ImpedimentIndices {
    /// True if the workload does not count for the shares of queues.
    pub fn is_too_large(self) -> bool {
        !matches!(self, Self::Predicates { .. })
    }
}

/// By workload: the reason why it never starts. `limits` are those of the tree.
pub fn find(facts: &ResolvedRequest, tree: &QueueTree) -> Vec<Option<ImpedimentIndices>> {
    let by_shape: Vec<Option<ImpedimentIndices>> = (0..facts.shapes.len()).map(|shape| alone(facts, shape)).collect();
    let mut room = AgentOccupancy::empty(facts);
    let mut together: Vec<Option<Option<ImpedimentIndices>>> = vec![None; facts.shapes.len()];
    let find = |(workload, waiting): (usize, &ResolvedWorkload)| {
        let limit = || over_limit(tree, waiting.queue, &facts.asked_by_minimum(waiting.shape));
        let fit = || *together[waiting.shape].get_or_insert_with(|| too_many(&mut room, workload));
        by_shape[waiting.shape].or_else(limit).or_else(fit)
    };
    facts.workloads.iter().enumerate().map(find).collect()
}

/// The members of a waiting workload that could start, with their numbers: as many as may run at once, without those that are
/// too large.
pub fn members_that_could_start<'f>(
    facts: &'f ResolvedRequest,
    tree: &QueueTree,
    waiting: &ResolvedWorkload,
) -> Vec<(&'f MemberGroup, usize)> {
    let shape = &facts.shapes[waiting.shape];
    let mut left = shape.most;
    let could_start = |group: &&MemberGroup| !is_member_too_large(facts, tree, waiting.queue, group);
    let counted = shape.groups.iter().filter(could_start).map(|group| {
        let number = group.count.min(left);
        left -= number;
        (group, number)
    });
    counted.collect()
}

/// True if a member of the group is too large for each agent that it could have, for the group or for a limit. In a cycle after
/// the minimum has started it would be found as a workload that never starts, so that it must ask for no share before.
fn is_member_too_large(facts: &ResolvedRequest, tree: &QueueTree, queue: usize, group: &MemberGroup) -> bool {
    let kind = &facts.kinds[group.kind];
    let is_over = |(column, units): &(usize, u128)| {
        let asked = Amount::from_units(*units);
        let exceeds_limit = |queue: usize| Bound::Limited(asked) > tree.limit[(queue, *column)];
        asked > facts.full_capacity[*column] || tree.ancestry(queue).any(exceeds_limit)
    };
    kind.has_agent && (!kind.could_run || kind.request.iter().any(is_over))
}

fn alone(facts: &ResolvedRequest, shape: usize) -> Option<ImpedimentIndices> {
    let groups = &facts.shapes[shape].groups;
    let fit = |group: &MemberGroup| {
        let kind = &facts.kinds[group.kind];
        MemberFit { count: group.count, has_agent: kind.has_agent, could_run: kind.could_run }
    };
    let minimum = facts.shapes[shape].minimum().max(1);
    if let Some(lack) = find_lack(groups.iter().map(fit), minimum) {
        return Some(match lack {
            MemberLack::Agents(group) => ImpedimentIndices::Predicates { kind: groups[group].kind },
            MemberLack::Room(group) => ImpedimentIndices::Agent { kind: groups[group].kind },
        });
    }
    let asked = facts.asked_by_minimum(shape);
    let rows =
        asked.iter().zip(&facts.full_capacity).enumerate().map(|(column, (asked, most))| (column, *asked, *most));
    find_excess(rows).map(|(column, ..)| ImpedimentIndices::Group { column })
}

fn over_limit(tree: &QueueTree, queue: usize, asked: &[Amount]) -> Option<ImpedimentIndices> {
    tree.ancestry(queue).find_map(|queue| {
        let rows = asked.iter().enumerate().filter_map(|(column, asked)| match tree.limit[(queue, column)] {
            Bound::Limited(limit) => Some((column, *asked, limit)),
            Bound::Unlimited => None,
        });
        find_excess(rows).map(|(column, ..)| ImpedimentIndices::Queue { queue, column })
    })
}

fn too_many(room: &mut AgentOccupancy, workload: usize) -> Option<ImpedimentIndices> {
    let shape = room.facts.shape_of(workload);
    let number = shape.minimum().max(1);
    if number == 1 || room.facts.only_totals || !shape.with.is_empty() || !shape.against.is_empty() {
        return None;
    }
    let used = vec![0; shape.groups.len()];
    match place(room, PlacementRequest { workload, used: &used, number, group: None }, None) {
        Ok(placed) => {
            undo(room, workload, &placed, None);
            None
        }
        Err(unplaced) => Some(ImpedimentIndices::Members { fit: unplaced.fit }),
    }
}
