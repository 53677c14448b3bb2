//! DRF's own algorithm: the dominant share of a user grows by each workload that is placed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::lists::Lists;
use crate::domain::ids::UserId;
use crate::domain::slots::Usages;

/// The user with the smallest dominant share gives its next workload, until nothing waits or `most` are placed. `share` tells
/// the dominant share of a user who occupies so much more than now, as the usage of one second.
pub fn order(
    mut lists: Lists<UserId>,
    requests: &[Usages],
    share: impl Fn(UserId, &Usages) -> f64,
    most: usize,
) -> Vec<u32> {
    let mut placed = vec![Usages::default(); lists.owners.len()];
    // Shares are never negative, and non-negative floats order like their bits.
    let key = |lists: &Lists<UserId>, placed: &[Usages], user: u32| {
        let next = lists.next(user)?;
        let share = share(lists.owners[user as usize], &placed[user as usize]);
        Some((share.to_bits(), lists.age(next)))
    };
    let mut heap = BinaryHeap::new();
    for user in (0u32..).take(lists.owners.len()) {
        heap.extend(key(&lists, &placed, user).map(|key| Reverse((key, user))));
    }
    let mut order = Vec::with_capacity(lists.len().min(most));
    while order.len() < most
        && let Some(mut first) = heap.peek_mut()
    {
        let user = first.0.1;
        let Some(at) = lists.take(user) else { break };
        placed[user as usize].add(&requests[at as usize]);
        match key(&lists, &placed, user) {
            Some(key) => first.0.0 = key,
            None => {
                PeekMut::pop(first);
            }
        }
        order.push(at);
    }
    order
}
