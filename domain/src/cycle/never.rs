//! Workloads that can never start as things are (CYCLE §3). They are found before the cycle, have no position, and keep no
//! place ahead of others.

use super::facts::{Facts, Waiting};
use super::placement::{Wanted, place, undo};
use super::room::Room;
use super::shapes::{MemberKind, Shape};
use crate::decimal::Amount;
use crate::division::QueueTree;
use crate::division::fraction::{Fraction, largest_ratio};
use crate::queues::Bound;

/// The thing that a workload lacks for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Never {
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

impl Never {
    /// True if the workload does not count for the shares of queues.
    pub fn is_too_large(self) -> bool {
        !matches!(self, Self::Predicates { .. })
    }
}

/// By workload: the reason why it never starts. `limits` are those of the tree.
pub fn find(facts: &Facts, tree: &QueueTree) -> Vec<Option<Never>> {
    let by_shape: Vec<Option<Never>> =
        facts.shapes.iter().zip(&facts.needs).map(|(shape, need)| alone(facts, shape, need)).collect();
    let mut room = Room::empty(facts);
    let mut together: Vec<Option<Option<Never>>> = vec![None; facts.shapes.len()];
    let find = |(workload, waiting): (usize, &Waiting)| {
        let limit = || over_limit(tree, waiting.queue, facts.need_of(workload));
        let fit = || *together[waiting.shape].get_or_insert_with(|| too_many(&mut room, workload));
        by_shape[waiting.shape].or_else(limit).or_else(fit)
    };
    facts.workloads.iter().enumerate().map(find).collect()
}

fn alone(facts: &Facts, shape: &Shape, need: &[Amount]) -> Option<Never> {
    let minimum = shape.minimum().max(1);
    let count = |can: fn(&MemberKind) -> bool| {
        let able = shape.groups.iter().filter(|group| can(&facts.kinds[group.kind]));
        able.map(|group| group.count).sum::<usize>()
    };
    let first = |lacks: fn(&MemberKind) -> bool| {
        shape.groups.iter().map(|group| group.kind).find(|kind| lacks(&facts.kinds[*kind])).unwrap_or_default()
    };
    if count(|kind| kind.has_agent) < minimum {
        return Some(Never::Predicates { kind: first(|kind| !kind.has_agent) });
    }
    if count(|kind| kind.could_run) < minimum {
        return Some(Never::Agent { kind: first(|kind| kind.has_agent && !kind.could_run) });
    }
    let over = (0..need.len()).filter(|column| need[*column] > facts.capacity[*column]);
    let (column, _) = largest_ratio(over, |column| Fraction::of(need[column], facts.capacity[column]));
    column.map(|column| Never::Group { column })
}

fn over_limit(tree: &QueueTree, queue: usize, need: &[Amount]) -> Option<Never> {
    tree.ancestry(queue).find_map(|queue| {
        let limit = |column: usize| match tree.limit[(queue, column)] {
            Bound::Limited(limit) => limit,
            Bound::Unlimited => Amount::MAX,
        };
        let over = (0..need.len()).filter(|column| Bound::Limited(need[*column]) > tree.limit[(queue, *column)]);
        let (column, _) = largest_ratio(over, |column| Fraction::of(need[column], limit(column)));
        column.map(|column| Never::Queue { queue, column })
    })
}

fn too_many(room: &mut Room, workload: usize) -> Option<Never> {
    let shape = room.facts.shape_of(workload);
    let number = shape.minimum().max(1);
    if number == 1 || room.facts.only_totals || !shape.with.is_empty() || !shape.against.is_empty() {
        return None;
    }
    let used = vec![0; shape.groups.len()];
    match place(room, Wanted { workload, used: &used, number }, None) {
        Ok(placed) => {
            undo(room, workload, &placed, None);
            None
        }
        Err(unplaced) => Some(Never::Members { fit: unplaced.fit }),
    }
}
