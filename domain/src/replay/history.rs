//! The input of a replay: jobs with their owners and sizes, and the capacity of the cluster.

use std::sync::Arc;

use crate::ids::Member;
use crate::maps::FastMap;
use crate::slots::Amounts;
use crate::time::{MICROS_PER_SECOND, Timestamp};

/// A job as it really ran.
#[derive(Clone, Debug)]
pub struct Job {
    pub id: Box<str>,
    /// An index in [`History::owners`].
    pub owner: u32,
    /// An index in [`History::sizes`].
    pub size: u32,
    pub submitted_at: Timestamp,
    /// The real start.
    pub started_at: Timestamp,
    /// The real runtime, in microseconds.
    pub ran: u64,
    /// The time limit that its user set.
    pub limit_seconds: Option<u32>,
    pub priority: i32,
}

impl Job {
    /// The real runtime in whole seconds, the unit in which schedulers get runtimes; at least 1.
    pub fn ran_seconds(&self) -> u32 {
        let seconds = self.ran.div_ceil(MICROS_PER_SECOND.unsigned_abs());
        u32::try_from(seconds).unwrap_or(u32::MAX).max(1)
    }

    /// The wait in microseconds, if the job starts at `start`.
    pub fn wait(&self, start: Timestamp) -> u64 {
        (start.micros() - self.submitted_at.micros()).max(0).unsigned_abs()
    }

    /// The end, if the job starts at `start`.
    pub fn end(&self, start: Timestamp) -> Timestamp {
        start.plus_micros(i64::try_from(self.ran).unwrap_or(i64::MAX))
    }
}

/// A user in a project, with the names in the trace.
#[derive(Clone, Debug)]
pub struct Person {
    pub member: Member,
    pub user: Arc<str>,
    pub project: Arc<str>,
    pub domain: Arc<str>,
}

/// The capacity of the cluster from an instant on.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    pub from: Timestamp,
    pub slots: Amounts,
}

/// The input of a replay.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The jobs, ordered by submission, then id.
    pub jobs: Vec<Job>,
    pub owners: Vec<Person>,
    /// The different sizes of jobs.
    pub sizes: Vec<Amounts>,
    /// The capacities, ordered by time.
    pub offers: Vec<Offer>,
}

impl History {
    pub fn owner(&self, job: &Job) -> &Person {
        &self.owners[job.owner as usize]
    }

    pub fn size(&self, job: &Job) -> &Amounts {
        &self.sizes[job.size as usize]
    }

    /// True if any job waited before its real start. Many traces do not contain waits.
    pub fn waits_known(&self) -> bool {
        self.jobs.iter().any(|job| job.started_at > job.submitted_at)
    }

    /// The capacity of an offer; `None` stands for the time before the first one. Slots that are offered at another
    /// time are 0, not absent.
    pub fn offered(&self, offer: Option<&Offer>) -> Amounts {
        let now = |slot| offer.and_then(|offer| offer.slots.get(slot)).unwrap_or_default();
        self.most_offered().iter().map(|(slot, _)| (slot, now(slot))).collect()
    }

    /// The largest capacity of each slot.
    pub fn most_offered(&self) -> Amounts {
        let mut most = Amounts::default();
        for (slot, amount) in self.offers.iter().flat_map(|offer| offer.slots.iter()) {
            if most.get(slot).is_none_or(|known| known < amount) {
                most.set(slot, amount);
            }
        }
        most.filtered(|amount| !amount.is_zero())
    }
}

/// Assigns consecutive numbers to different values.
#[derive(Debug)]
pub struct Numbers<K>(FastMap<K, u32>);

impl<K> Default for Numbers<K> {
    fn default() -> Self {
        Self(FastMap::default())
    }
}

impl<K: std::hash::Hash + Eq> Numbers<K> {
    /// The number of a value. A new value gets the next number, and `new` is called with it.
    pub fn of(&mut self, value: K, new: impl FnOnce(&K)) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(value).or_insert_with_key(|value| {
            new(value);
            next
        })
    }
}
