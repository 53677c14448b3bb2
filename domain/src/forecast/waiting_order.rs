//! The workloads that wait in one possible future, in order.
//!
//! An order compares the shares of owners first, which change with time, and then the places of workloads. Workloads of one owner
//! that are alike for the scheduler form a lane, of which only the first one can be the next to start. The owners stay sorted, so
//! that only the first of them need to be looked at.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::share_order::{OwnerKey, ShareState};
use crate::ids::Member;
use crate::maps::FastMap;

/// The place of a workload in the order: the place among those that wait now, and its number.
///
/// The workload that waits at place `n` has `2n + 1`; one that is submitted later goes to `2n` before it, or behind the last.
pub type OrderPlace = (u32, u32);

/// Workloads of one owner that wait and are alike for the scheduler.
#[derive(Clone, Debug)]
pub struct WaitingLane {
    /// An index in [`WaitingOrder::owners`].
    owner: usize,
    pub kind: usize,
    pub expected_seconds: Option<u32>,
    waiting: BinaryHeap<Reverse<OrderPlace>>,
}

/// An owner of waiting workloads.
#[derive(Clone, Debug)]
struct WaitingOwner {
    /// `None`: all owners, where places alone decide.
    member: Option<Member>,
    /// The key of the present round.
    key: OwnerKey,
    /// The lane of each workload that waits, by place. Those that have started are removed once they are the first.
    waiting: BinaryHeap<Reverse<(OrderPlace, usize)>>,
    /// The lanes in which workloads wait.
    lanes: Vec<usize>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct WaitingOrder {
    lanes: Vec<WaitingLane>,
    lane_of: FastMap<(usize, usize, Option<u32>), usize>,
    owners: Vec<WaitingOwner>,
    /// The owners by their keys.
    sorted: Vec<usize>,
    /// The number of waiting workloads of each kind.
    waiting_of_kind: Vec<u32>,
    owner_numbers: FastMap<Option<Member>, usize>,
    has_started: Vec<bool>,
}

impl WaitingOrder {
    /// Adds a workload with the next number. `owner` is `None` where places alone decide.
    pub fn add(&mut self, owner: Option<Member>, kind: usize, expected_seconds: Option<u32>, place: OrderPlace) {
        let owner = self.owner_number(owner);
        let lane = *self.lane_of.entry((owner, kind, expected_seconds)).or_insert_with(|| {
            self.lanes.push(WaitingLane { owner, kind, expected_seconds, waiting: BinaryHeap::new() });
            self.lanes.len() - 1
        });
        if self.lanes[lane].waiting.is_empty() {
            self.owners[owner].lanes.push(lane);
        }
        if self.waiting_of_kind.len() <= kind {
            self.waiting_of_kind.resize(kind + 1, 0);
        }
        self.waiting_of_kind[kind] += 1;
        self.lanes[lane].waiting.push(Reverse(place));
        self.owners[owner].waiting.push(Reverse((place, lane)));
        let number = place.1 as usize;
        if self.has_started.len() <= number {
            self.has_started.resize(number + 1, false);
        }
    }

    fn owner_number(&mut self, member: Option<Member>) -> usize {
        *self.owner_numbers.entry(member).or_insert_with(|| {
            let (key, number) = (OwnerKey::default(), self.owners.len());
            self.owners.push(WaitingOwner { member, key, waiting: BinaryHeap::new(), lanes: Vec::new() });
            self.sorted.push(number);
            number
        })
    }

    /// Brings the keys of the owners up to date.
    pub fn update_keys(&mut self, shares: &ShareState, at: i64) {
        let growth = shares.growth(at);
        for owner in &mut self.owners {
            owner.key = owner.member.map(|member| shares.key(member, growth)).unwrap_or_default();
        }
        let owners = &self.owners;
        self.sorted.sort_by_key(|owner| owners[*owner].key);
    }

    pub fn lane(&self, lane: usize) -> &WaitingLane {
        &self.lanes[lane]
    }

    /// The lane of the first workload of all.
    pub fn first(&self) -> Option<usize> {
        self.first_of_owners(|owner| owner.waiting.peek().map(|Reverse((place, lane))| (*place, *lane)))
    }

    /// The lane of the first workload of those whose kind and lane pass.
    pub fn first_that(
        &self,
        kind_passes: impl Fn(usize) -> bool,
        lane_passes: impl Fn(&WaitingLane) -> bool,
    ) -> Option<usize> {
        let kinds = self.waiting_of_kind.iter().enumerate();
        let kind_passes: Vec<bool> = kinds.map(|(kind, waiting)| *waiting > 0 && kind_passes(kind)).collect();
        if !kind_passes.contains(&true) {
            return None;
        }
        self.first_of_owners(|owner| {
            let lanes = owner.lanes.iter().map(|lane| (&self.lanes[*lane], *lane));
            let passing = lanes.filter(|(lane, _)| kind_passes[lane.kind] && lane_passes(lane));
            passing.filter_map(|(of, lane)| of.waiting.peek().map(|Reverse(place)| (*place, lane))).min()
        })
    }

    /// The lane of the first workload that `find` gives for an owner.
    fn first_of_owners(&self, find: impl Fn(&WaitingOwner) -> Option<(OrderPlace, usize)>) -> Option<usize> {
        let mut first: Option<(OwnerKey, OrderPlace, usize)> = None;
        for owner in self.sorted.iter().map(|owner| &self.owners[*owner]) {
            // Places decide between owners with the same key.
            if first.is_some_and(|(key, ..)| key != owner.key) {
                break;
            }
            let found = find(owner).map(|(place, lane)| (owner.key, place, lane));
            first = [first, found].into_iter().flatten().min();
        }
        first.map(|(_, _, lane)| lane)
    }

    /// Removes the first workload of the lane, which starts, and returns its number.
    pub fn take(&mut self, lane: usize) -> Option<u32> {
        let WaitingLane { owner, kind, waiting, .. } = &mut self.lanes[lane];
        let Reverse((_, number)) = waiting.pop()?;
        self.waiting_of_kind[*kind] -= 1;
        let owner = &mut self.owners[*owner];
        if waiting.is_empty() {
            owner.lanes.retain(|other| *other != lane);
        }
        self.has_started[number as usize] = true;
        while owner.waiting.peek().is_some_and(|Reverse(((_, number), _))| self.has_started[*number as usize]) {
            owner.waiting.pop();
        }
        Some(number)
    }
}
