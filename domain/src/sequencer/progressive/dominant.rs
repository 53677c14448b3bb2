//! The algorithm of DRF: the dominant share of a user grows with each placed workload.

use std::cmp::Reverse;

use super::heap::{KeyHeap, update_top};
use super::lists::{ListedWorkload, OwnerLists};
use crate::ids::UserId;
use crate::slots::SlotUsages;

/// Places workloads until none is left or `most` are placed. The user with the smallest dominant share gives its next
/// workload. `share` returns the dominant share of a user who holds more than now; the addition is the usage of one
/// second.
pub fn order(
    mut lists: OwnerLists<UserId, ()>,
    requests: &[SlotUsages],
    share: impl Fn(UserId, &SlotUsages) -> f64,
    most: usize,
) -> Vec<u32> {
    let mut placed = vec![SlotUsages::default(); lists.owners.len()];
    // Shares are never negative, and non-negative floats have the same order as their bits.
    let key = |lists: &OwnerLists<UserId, ()>, placed: &[SlotUsages], user: u32| {
        let next = lists.next(user)?;
        let share = share(lists.owners[user as usize], &placed[user as usize]);
        Some((share.to_bits(), next.age))
    };
    let mut heap = KeyHeap::new();
    for user in (0u32..).take(lists.owners.len()) {
        heap.extend(key(&lists, &placed, user).map(|key| Reverse((key, user))));
    }
    let mut order = Vec::with_capacity(lists.len().min(most));
    while order.len() < most
        && let Some(Reverse((_, user))) = heap.peek().copied()
        && let Some(ListedWorkload { at, .. }) = lists.take(user)
    {
        placed[user as usize].add(&requests[at as usize]);
        update_top(&mut heap, key(&lists, &placed, user));
        order.push(at);
    }
    order
}
