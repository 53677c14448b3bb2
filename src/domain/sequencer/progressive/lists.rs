//! Each owner's workloads, in the order in which the owner gives them.

use std::cmp::Reverse;
use std::hash::Hash;

use super::super::{Workload, by_submission};
use crate::domain::maps::FastMap;

/// A workload that waits.
#[derive(Clone, Copy, Debug)]
pub struct Waiting<C> {
    /// Its position in the input.
    pub at: u32,
    /// Its place among all workloads by submission, then id. No two have the same.
    pub age: u32,
    pub cost: C,
}

/// Workloads by owner: the highest priority first, then submission, then id. An owner's workloads lie side by side in memory, so
/// that its next one is at hand.
pub struct Lists<K, C> {
    pub owners: Vec<K>,
    /// By owner: what is left of it in `waiting`.
    left: Vec<(u32, u32)>,
    waiting: Vec<Waiting<C>>,
}

impl<K: Hash + Eq + Copy, C: Copy + Default> Lists<K, C> {
    /// `cost` tells that of the workload at a position.
    pub fn new<'a>(workloads: &'a [Workload<'a>], owner: impl Fn(&Workload) -> K, cost: impl Fn(usize) -> C) -> Self {
        let mut numbers: FastMap<K, u32> = FastMap::default();
        let (mut owners, mut counts) = (Vec::new(), Vec::<u32>::new());
        let (mut of, mut priorities) = (Vec::with_capacity(workloads.len()), Vec::with_capacity(workloads.len()));
        for workload in workloads {
            let key = owner(workload);
            let number = *numbers.entry(key).or_insert_with(|| {
                owners.push(key);
                counts.push(0);
                u32::try_from(owners.len() - 1).unwrap_or(u32::MAX)
            });
            counts[number as usize] += 1;
            of.push(number);
            priorities.push(Reverse(workload.priority));
        }
        let mut left = Vec::with_capacity(counts.len());
        let mut end = 0;
        for count in counts {
            left.push((end, end));
            end += count;
        }
        let mut waiting = vec![Waiting { at: 0, age: 0, cost: C::default() }; workloads.len()];
        for (age, at) in (0..).zip(by_submission(workloads)) {
            let (_, next) = &mut left[of[at as usize] as usize];
            waiting[*next as usize] = Waiting { at, age, cost: cost(at as usize) };
            *next += 1;
        }
        for (first, end) in &left {
            // Those of one priority stay by age.
            waiting[*first as usize..*end as usize].sort_by_key(|one| priorities[one.at as usize]);
        }
        Self { owners, left, waiting }
    }

    /// The owner's next workload.
    pub fn next(&self, owner: u32) -> Option<&Waiting<C>> {
        let (next, end) = self.left[owner as usize];
        (next < end).then(|| &self.waiting[next as usize])
    }

    /// Takes the owner's next workload out.
    pub fn take(&mut self, owner: u32) -> Option<Waiting<C>> {
        let next = *self.next(owner)?;
        self.left[owner as usize].0 += 1;
        Some(next)
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }
}
