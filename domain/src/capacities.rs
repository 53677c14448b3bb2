//! The capacities of consecutive buckets. Neighbours mostly have the same capacity, which is stored once for all of
//! them.

use std::iter;
use std::ops::Range;
use std::sync::Arc;

use super::slots::Amounts;

/// Consecutive buckets with the same capacity.
#[derive(Clone, Debug)]
struct Run {
    capacity: Arc<Amounts>,
    /// The index after the last of them.
    end: u32,
}

/// The capacity at each index from 0 on.
#[derive(Clone, Debug, Default)]
pub struct Capacities(Vec<Run>);

impl Capacities {
    /// The size of its block of memory, in bytes.
    pub fn memory(&self) -> usize {
        self.0.capacity() * size_of::<Run>()
    }

    /// The capacity at an index, which must exist.
    pub fn get(&self, at: usize) -> &Arc<Amounts> {
        &self.0[self.run_of(at)].capacity
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Amounts>> {
        let starts = iter::once(0).chain(self.0.iter().map(|run| run.end));
        starts.zip(&self.0).flat_map(|(start, run)| iter::repeat_n(&run.capacity, (run.end - start) as usize))
    }

    /// Inserts a capacity before the one at an index, or after the last one.
    pub fn insert(&mut self, at: usize, capacity: &Arc<Amounts>) {
        // Most capacities come last and equal the one before, which takes no memory.
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

    /// The index of the run that contains an index.
    fn run_of(&self, at: usize) -> usize {
        self.0.partition_point(|run| run.end as usize <= at)
    }

    /// Makes a run begin at an index, and returns the index of that run.
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
        // There are many lists, and most are short, so each grows by one.
        self.0.reserve_exact(1);
        self.0.insert(at, run);
    }

    /// Joins neighbouring runs that have the same capacity.
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

/// The number of buckets of a chain fits, because it has at most one for each day.
fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
