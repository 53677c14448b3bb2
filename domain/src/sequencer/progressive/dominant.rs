//! DRF's own algorithm: the dominant share of a user grows by each workload that is placed.

use std::cmp::Reverse;

use super::heap::{Heap, settle};
use super::lists::{Lists, Waiting};
use crate::ids::UserId;
use crate::slots::Usages;

/// The user with the smallest dominant share gives its next workload, until nothing waits or `most` are placed. `share` tells
/// the dominant share of a user who occupies so much more than now, as the usage of one second.
pub fn order(
    mut lists: Lists<UserId, ()>,
    requests: &[Usages],
    share: impl Fn(UserId, &Usages) -> f64,
    most: usize,
) -> Vec<u32> {
    let mut placed = vec![Usages::default(); lists.owners.len()];
    // Shares are never negative, and non-negative floats order like their bits.
    let key = |lists: &Lists<UserId, ()>, placed: &[Usages], user: u32| {
        let next = lists.next(user)?;
        let share = share(lists.owners[user as usize], &placed[user as usize]);
        Some((share.to_bits(), next.age))
    };
    let mut heap = Heap::new();
    for user in (0u32..).take(lists.owners.len()) {
        heap.extend(key(&lists, &placed, user).map(|key| Reverse((key, user))));
    }
    let mut order = Vec::with_capacity(lists.len().min(most));
    while order.len() < most
        && let Some(Reverse((_, user))) = heap.peek().copied()
        && let Some(Waiting { at, .. }) = lists.take(user)
    {
        placed[user as usize].add(&requests[at as usize]);
        settle(&mut heap, key(&lists, &placed, user));
        order.push(at);
    }
    order
}
