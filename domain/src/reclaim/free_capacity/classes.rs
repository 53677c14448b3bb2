//! The pending members grouped by what they ask for. Members of one class are interchangeable.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::decimal::Amount;
use crate::division::Fraction;
use crate::reclaim::policy::plugins::{self, ReclaimPlugin};
use crate::reclaim::snapshot::{ReclaimSnapshot, cells_of};

/// The pending members that ask for the same slots and may run on the same agents.
pub struct PendingClass {
    pub request: Vec<(usize, u128)>,
    /// Indices in the list of pending members.
    pub members: Vec<usize>,
    /// By agent: the number of members that may run there, as far as free slots do not decide; 0 for an agent that is
    /// not eligible.
    pub allowed: Vec<usize>,
}

/// Groups the first `count` pending members into classes, the largest request first. Without agents only totals count,
/// so there is one class with the total request.
pub fn group_into_classes(
    snapshot: &ReclaimSnapshot,
    predicates: &[&'static dyn ReclaimPlugin],
    count: usize,
) -> Vec<PendingClass> {
    let members = &snapshot.pending.members[..count];
    let Some(agents) = snapshot.agents else {
        let request = total_request(snapshot, count);
        let cells = request.iter().enumerate().filter(|(_, a)| !a.is_zero()).map(|(c, a)| (c, a.units())).collect();
        return vec![PendingClass { request: cells, members: vec![0], allowed: vec![usize::MAX] }];
    };
    let mut classes: Vec<PendingClass> = Vec::new();
    let mut known = HashMap::new();
    for (at, member) in members.iter().enumerate() {
        let class = *known.entry((&member.slots, &member.labels)).or_insert(classes.len());
        if let Some(class) = classes.get_mut(class) {
            class.members.push(at);
            continue;
        }
        let allowed = |agent| if plugins::admits(predicates, member, agent) { usize::MAX } else { 0 };
        classes.push(PendingClass {
            request: cells_of(snapshot.tree, &member.slots).collect(),
            members: vec![at],
            allowed: agents.iter().map(allowed).collect(),
        });
    }
    let size = |class: &PendingClass| {
        let part = |(column, units): &(usize, u128)| Fraction::new(*units, snapshot.tree.capacity[*column].units());
        class.request.iter().map(part).max().unwrap_or(Fraction::ZERO)
    };
    classes.sort_by_cached_key(|class| Reverse(size(class)));
    classes
}

/// The sum of what the first `count` pending members ask for, by column.
pub fn total_request(snapshot: &ReclaimSnapshot, count: usize) -> Vec<Amount> {
    let mut total = vec![Amount::ZERO; snapshot.width()];
    for member in &snapshot.pending.members[..count] {
        for (column, units) in cells_of(snapshot.tree, &member.slots) {
            total[column] = total[column].saturating_add(Amount::from_units(units));
        }
    }
    total
}
