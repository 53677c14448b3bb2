//! The capacities of buckets that follow each other. Neighbours mostly have the same one, which is kept once.

use std::iter;
use std::ops::Range;
use std::sync::Arc;

use super::slots::Amounts;

/// Buckets that follow each other and have the same capacity.
#[derive(Clone, Debug)]
struct Run {
    capacity: Arc<Amounts>,
    /// The place after the last of them.
    end: u32,
}

/// The capacity at each place from 0 on.
#[derive(Clone, Debug, Default)]
pub struct Capacities(Vec<Run>);

impl Capacities {
    /// What its block takes, in bytes.
    pub fn memory(&self) -> usize {
        self.0.capacity() * size_of::<Run>()
    }

    /// The capacity at a place that has one.
    pub fn get(&self, at: usize) -> &Arc<Amounts> {
        &self.0[self.run_of(at)].capacity
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Amounts>> {
        let starts = iter::once(0).chain(self.0.iter().map(|run| run.end));
        starts.zip(&self.0).flat_map(|(start, run)| iter::repeat_n(&run.capacity, (run.end - start) as usize))
    }

    /// Puts a capacity before the one at a place, or after the last one.
    pub fn insert(&mut self, at: usize, capacity: &Arc<Amounts>) {
        // Most come last and are as the one before, which takes no room.
        if let Some(last) = self.0.last_mut()
            && last.end as usize == at
            && last.capacity == *capacity
        {
            last.end += 1;
            return;
        }
        let next = self.split(at);
        self.0[next..].iter_mut().for_each(|run| run.end += 1);
        self.put(next, Run { capacity: Arc::clone(capacity), end: place(at) + 1 });
        self.join();
    }

    pub fn set(&mut self, at: usize, capacity: &Arc<Amounts>) {
        self.remove(at..at + 1);
        self.insert(at, capacity);
    }

    pub fn remove(&mut self, places: Range<usize>) {
        let (first, next) = (self.split(places.start), self.split(places.end));
        self.0.drain(first..next);
        self.0[first..].iter_mut().for_each(|run| run.end -= place(places.len()));
        self.join();
    }

    /// Which run has a place.
    fn run_of(&self, at: usize) -> usize {
        self.0.partition_point(|run| run.end as usize <= at)
    }

    /// Makes a run begin at a place, and returns which one.
    fn split(&mut self, at: usize) -> usize {
        let found = self.run_of(at);
        let start = found.checked_sub(1).map_or(0, |before| self.0[before].end as usize);
        match self.0.get(found) {
            Some(run) if start < at => {
                let before = Run { capacity: Arc::clone(&run.capacity), end: place(at) };
                self.put(found, before);
                found + 1
            }
            _ => found,
        }
    }

    fn put(&mut self, at: usize, run: Run) {
        // There are many lists, and most are short, so they grow by little.
        self.0.reserve_exact(1);
        self.0.insert(at, run);
    }

    /// Makes one run of neighbours that have the same capacity.
    fn join(&mut self) {
        self.0.dedup_by(|next, run| {
            let same = next.capacity == run.capacity;
            if same {
                run.end = next.end;
            }
            same
        });
    }
}

/// A chain has one bucket for a day at most.
fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
