//! The workloads of each owner, in the order in which the owner gives them.

use std::cmp::Reverse;
use std::hash::Hash;

use super::super::{SequenceWorkload, by_submission};
use crate::maps::FastMap;
use crate::parallel::both_of;

/// The owner of each workload, and the order of each owner's workloads.
pub struct ByOwner<K> {
    numbered: NumberedOwners<K>,
    /// The age and the position of each workload.
    given: Vec<(u32, u32)>,
}

impl<K: Hash + Eq + Copy + Send> ByOwner<K> {
    pub fn new<'a>(workloads: &'a [SequenceWorkload<'a>], owner: impl Fn(&SequenceWorkload) -> K + Send) -> Self {
        let numbered = || NumberedOwners::new(workloads.iter().map(owner));
        let (numbered, given) = both_of(workloads.len(), numbered, || as_given(workloads));
        Self { numbered, given }
    }
}

impl<K> ByOwner<K> {
    /// The owners, each once.
    pub fn owners(&self) -> &[K] {
        &self.numbered.owners
    }

    /// The number of workloads.
    pub fn count(&self) -> usize {
        self.given.len()
    }

    /// The workloads. The ones of the same owner are in the order in which it gives them.
    pub fn given(&self) -> impl Iterator<Item = NextWorkload> + '_ {
        self.given.iter().map(|(age, at)| NextWorkload { age: *age, at: *at, owner: self.numbered.of[*at as usize] })
    }

    /// The index in [`Self::owners`] of the owner of the workload at a position.
    pub fn owner_of(&self, at: usize) -> usize {
        self.numbered.of[at] as usize
    }
}

/// A workload that its owner gives.
#[derive(Clone, Copy, Debug)]
pub struct NextWorkload {
    /// Its rank among all workloads by submission, then id. It is unique.
    pub age: u32,
    /// Its position in the input.
    pub at: u32,
    /// The index of its owner.
    pub owner: u32,
}

/// A pending workload.
#[derive(Clone, Copy, Debug)]
pub struct ListedWorkload<C> {
    /// Its position in the input.
    pub at: u32,
    /// Its rank among all workloads by submission, then id. It is unique.
    pub age: u32,
    pub cost: C,
}

/// The workloads of each owner: by priority, highest first, then by submission, then by id. Owners take turns, so
/// workloads that are given at about the same time are neighbours in memory: the first of each owner, then the second
/// of each owner that has two, and so on.
pub struct OwnerLists<K, C> {
    /// The owners; the owner with the most workloads comes first.
    pub owners: Vec<K>,
    /// The number of workloads that were taken from each owner.
    taken: Vec<u32>,
    /// The start of each round in `waiting`, and the end of the last one. In round n every owner that has at least n
    /// workloads gives one.
    rounds: Vec<u32>,
    waiting: Vec<ListedWorkload<C>>,
}

impl<K: Copy, C: Copy + Default> OwnerLists<K, C> {
    /// Builds the lists. `cost` returns the cost of the workload at a position.
    pub fn new(workloads: &ByOwner<K>, cost: impl Fn(usize) -> C) -> Self {
        let mut lists = Self {
            owners: workloads.owners().to_vec(),
            taken: vec![0; workloads.owners().len()],
            rounds: round_starts(&workloads.numbered.counts),
            waiting: vec![ListedWorkload { at: 0, age: 0, cost: C::default() }; workloads.count()],
        };
        for NextWorkload { age, at, owner } in workloads.given() {
            if let Some(place) = lists.place(owner) {
                lists.waiting[place] = ListedWorkload { at, age, cost: cost(at as usize) };
                lists.taken[owner as usize] += 1;
            }
        }
        lists.taken.fill(0);
        lists
    }

    /// The index of the owner's next workload.
    fn place(&self, owner: u32) -> Option<usize> {
        let round = self.taken[owner as usize] as usize;
        let place = self.rounds[round] + owner;
        (place < *self.rounds.get(round + 1)?).then_some(place as usize)
    }

    /// The owner's next workload.
    pub fn next(&self, owner: u32) -> Option<&ListedWorkload<C>> {
        self.place(owner).map(|place| &self.waiting[place])
    }

    /// Removes and returns the owner's next workload.
    pub fn take(&mut self, owner: u32) -> Option<ListedWorkload<C>> {
        let next = *self.next(owner)?;
        self.taken[owner as usize] += 1;
        Some(next)
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }
}

/// The age and the position of each workload. The ones of the same owner are in the order in which it gives them.
fn as_given(workloads: &[SequenceWorkload]) -> Vec<(u32, u32)> {
    let mut given: Vec<(u32, u32)> = (0..).zip(by_submission(workloads)).collect();
    if workloads.windows(2).any(|pair| pair[0].priority != pair[1].priority) {
        given.sort_by_cached_key(|(_, at)| Reverse(workloads[*at as usize].priority));
    }
    given
}

/// The start of each round, and the end of the last one. `counts` are the numbers of workloads of the owners,
/// descending.
fn round_starts(counts: &[u32]) -> Vec<u32> {
    let (mut begins, mut begin) = (vec![0], 0);
    let mut owners = counts.len();
    for round in 0..counts.first().copied().unwrap_or(0) {
        while owners > 0 && counts[owners - 1] <= round {
            owners -= 1;
        }
        begin += to_number(owners);
        begins.push(begin);
    }
    begins
}

/// The owners by number; the owner with the most workloads comes first.
struct NumberedOwners<K> {
    owners: Vec<K>,
    /// The number of workloads of each owner.
    counts: Vec<u32>,
    /// By workload: the number of its owner.
    of: Vec<u32>,
}

impl<K: Hash + Eq + Copy> NumberedOwners<K> {
    fn new(of_workloads: impl ExactSizeIterator<Item = K>) -> Self {
        let mut numbers: FastMap<K, u32> = FastMap::default();
        let mut found: Vec<(K, u32)> = Vec::new();
        let mut of = Vec::with_capacity(of_workloads.len());
        for owner in of_workloads {
            let known = *numbers.entry(owner).or_insert_with(|| {
                found.push((owner, 0));
                to_number(found.len() - 1)
            });
            found[known as usize].1 += 1;
            of.push(known);
        }
        let mut by_count: Vec<u32> = (0..to_number(found.len())).collect();
        by_count.sort_by_key(|owner| Reverse(found[*owner as usize].1));
        let mut places = vec![0; found.len()];
        for (place, owner) in (0..).zip(&by_count) {
            places[*owner as usize] = place;
        }
        for owner in &mut of {
            *owner = places[*owner as usize];
        }
        let (owners, counts) = by_count.iter().map(|owner| found[*owner as usize]).unzip();
        Self { owners, counts, of }
    }
}

pub fn to_number(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
