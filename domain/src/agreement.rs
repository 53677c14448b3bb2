//! The agreement of two orders of the same workloads (FAIR_SHARE §13): equal places, Kendall's tau, and the places that owners
//! would gain.
//!
//! The first order is ours, the second one is in force elsewhere, such as the queue of another scheduler. Each may have
//! workloads that the other one lacks. Those are left out, and places are counted among the workloads of both orders. The places
//! of both orders are therefore the same numbers, and the gains of all owners add up to zero.

use crate::ids::Member;
use crate::maps::FastMap;

/// The workloads that two orders have in common, with their places among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComparedOrders {
    /// Positions in our order, ascending.
    positions: Vec<u32>,
    /// For each of `positions`: the place in the current order, from 0.
    current_places: Vec<u32>,
}

/// The agreement of two orders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OrderAgreement {
    /// The number of compared workloads.
    pub compared: usize,
    /// The number of those with the same place in both orders.
    pub same_place: usize,
    /// 1 for equal orders, -1 for an order and its reverse; `None` for fewer than two workloads.
    pub kendall_tau: Option<f64>,
}

impl ComparedOrders {
    /// Compares our order with the current one. `current_positions` has for each workload of our order its position in the
    /// current order, below `current_length`; `None` if the current order lacks it. A position that comes again is left out,
    /// because it belongs to a workload that our order has already named.
    pub fn of(current_positions: impl ExactSizeIterator<Item = Option<u32>>, current_length: usize) -> Self {
        let mut is_common = vec![false; current_length];
        let (mut positions, mut current_places) = (Vec::new(), Vec::new());
        for (position, current) in (0u32..).zip(current_positions) {
            let Some(current) = current else { continue };
            if !std::mem::replace(&mut is_common[current as usize], true) {
                positions.push(position);
                current_places.push(current);
            }
        }
        let mut next = 0;
        let place = |is_common: bool| {
            let place = next;
            next += u32::from(is_common);
            place
        };
        let places: Vec<u32> = is_common.into_iter().map(place).collect();
        for current in &mut current_places {
            *current = places[*current as usize];
        }
        Self { positions, current_places }
    }

    /// The compared workloads in our order: the position in the whole of our order, the place and the current place, all from 0.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, u32, u32)> {
        let places = self.positions.iter().zip(&self.current_places).enumerate();
        places.map(|(place, (position, current))| (*position, u32::try_from(place).unwrap_or(u32::MAX), *current))
    }

    /// The agreement of both orders as a whole.
    pub fn agreement(&self) -> OrderAgreement {
        self.agreement_of_heads(usize::MAX)
    }

    /// The agreement of the workloads that are among the first `length` of either order. Places remain those among all common
    /// workloads. The head of one order alone would not do: its workloads can stand in the same sequence in both orders while
    /// all of them overtake the head of the other order.
    pub fn agreement_of_heads(&self, length: usize) -> OrderAgreement {
        let is_in_head = |place: u32| (place as usize) < length;
        let heads = self.iter().filter(|(_, place, current)| is_in_head(*place) || is_in_head(*current));
        let (mut same_place, mut current_places) = (0, Vec::new());
        for (_, place, current) in heads {
            same_place += usize::from(place == current);
            current_places.push(current);
        }
        let compared = current_places.len();
        let pairs = compared as u64 * (compared as u64).saturating_sub(1) / 2;
        // Both numbers are whole and below 2^53, so that only the division rounds.
        let tau = |pairs: u64| (pairs as f64 - 2.0 * count_inversions(current_places) as f64) / pairs as f64;
        OrderAgreement { compared, same_place, kendall_tau: (pairs > 0).then(|| tau(pairs)) }
    }

    /// The places that each owner gains in our order: the sum of those of the owner's workloads, below 0 for a loss. `owner`
    /// returns the owner of the workload at a position in our order.
    pub fn places_gained(&self, owner: impl Fn(u32) -> Member) -> FastMap<Member, i64> {
        let mut gained: FastMap<Member, i64> = FastMap::default();
        for (position, place, current) in self.iter() {
            *gained.entry(owner(position)).or_default() += i64::from(current) - i64::from(place);
        }
        gained
    }
}

/// The number of pairs in which a later number is smaller than an earlier one, by merging ever longer sorted parts. The numbers
/// are distinct.
fn count_inversions(mut sorted: Vec<u32>) -> u64 {
    let mut merged = vec![0; sorted.len()];
    let (mut inversions, mut length) = (0, 1);
    while length < sorted.len() {
        for (part, target) in sorted.chunks(2 * length).zip(merged.chunks_mut(2 * length)) {
            let (left, right) = part.split_at(length.min(part.len()));
            inversions += merge_parts(left, right, target);
        }
        std::mem::swap(&mut sorted, &mut merged);
        length *= 2;
    }
    inversions
}

/// Merges two sorted parts. Returns the number of pairs of which the one of `right` is smaller.
fn merge_parts(mut left: &[u32], mut right: &[u32], target: &mut [u32]) -> u64 {
    let mut inversions = 0;
    for next in target {
        match (left.split_first(), right.split_first()) {
            (Some((first, rest)), other) if other.is_none_or(|(smallest, _)| first < smallest) => {
                *next = *first;
                left = rest;
            }
            (_, Some((smallest, rest))) => {
                inversions += left.len() as u64;
                *next = *smallest;
                right = rest;
            }
            _ => {}
        }
    }
    inversions
}
