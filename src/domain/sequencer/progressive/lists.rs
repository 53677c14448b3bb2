//! Each owner's workloads, in the order in which the owner gives them.

use std::cmp::Reverse;
use std::hash::Hash;

use super::super::{Workload, by_submission};
use crate::domain::maps::FastMap;

/// Workloads by owner: the highest priority first, then submission, then id.
pub struct Lists<K> {
    pub owners: Vec<K>,
    /// By owner: what is left of it in `positions`.
    left: Vec<(usize, usize)>,
    positions: Vec<u32>,
    /// By position: the place among all workloads by submission, then id. No two have the same.
    ages: Vec<u32>,
}

impl<K: Hash + Eq + Copy> Lists<K> {
    pub fn new<'a>(workloads: &'a [Workload<'a>], owner: impl Fn(&Workload) -> K) -> Self {
        let by_age = by_submission(workloads);
        let mut ages = vec![0; workloads.len()];
        for (age, at) in (0..).zip(&by_age) {
            ages[*at as usize] = age;
        }
        let mut numbers: FastMap<K, u32> = FastMap::default();
        let (mut owners, mut counts, mut of) = (Vec::new(), Vec::<usize>::new(), Vec::with_capacity(workloads.len()));
        for workload in workloads {
            let key = owner(workload);
            let number = *numbers.entry(key).or_insert_with(|| {
                owners.push(key);
                counts.push(0);
                u32::try_from(owners.len() - 1).unwrap_or(u32::MAX)
            });
            counts[number as usize] += 1;
            of.push(number);
        }
        let mut left = Vec::with_capacity(counts.len());
        let mut end = 0;
        for count in counts {
            left.push((end, end));
            end += count;
        }
        let mut positions = vec![0; workloads.len()];
        for at in by_age {
            let (_, next) = &mut left[of[at as usize] as usize];
            positions[*next] = at;
            *next += 1;
        }
        let priority = |at: &u32| Reverse(workloads[*at as usize].priority);
        for (first, end) in &left {
            // Those of one priority stay by age.
            positions[*first..*end].sort_by_key(priority);
        }
        Self { owners, left, positions, ages }
    }

    /// The owner's next workload.
    pub fn next(&self, owner: u32) -> Option<u32> {
        let (next, end) = self.left[owner as usize];
        (next < end).then(|| self.positions[next])
    }

    /// Takes the owner's next workload out.
    pub fn take(&mut self, owner: u32) -> Option<u32> {
        let next = self.next(owner)?;
        self.left[owner as usize].0 += 1;
        Some(next)
    }

    pub fn age(&self, workload: u32) -> u32 {
        self.ages[workload as usize]
    }

    pub fn len(&self) -> usize {
        self.positions.len()
    }
}
