//! What is replayed: jobs with their owners and sizes, and what the cluster offered.

use std::sync::Arc;

use crate::ids::Member;
use crate::maps::FastMap;
use crate::slots::Amounts;
use crate::time::{MICROS_PER_SECOND, Timestamp};

/// A job as it was.
#[derive(Clone, Debug)]
pub struct Job {
    pub id: Box<str>,
    /// A place in [`History::owners`].
    pub owner: u32,
    /// A place in [`History::sizes`].
    pub size: u32,
    pub submitted_at: Timestamp,
    /// When it really started.
    pub started_at: Timestamp,
    /// How long it ran, in microseconds.
    pub ran: u64,
    /// The longest that its user said it would run.
    pub limit_seconds: Option<u32>,
    pub priority: i32,
}

impl Job {
    /// How long it ran, in seconds as a scheduler is told them.
    pub fn ran_seconds(&self) -> u32 {
        let seconds = self.ran.div_ceil(MICROS_PER_SECOND.unsigned_abs());
        u32::try_from(seconds).unwrap_or(u32::MAX).max(1)
    }

    /// How long it waited, in microseconds, if it started then.
    pub fn wait(&self, start: Timestamp) -> u64 {
        (start.micros() - self.submitted_at.micros()).max(0).unsigned_abs()
    }

    /// When it ends, if it starts then.
    pub fn end(&self, start: Timestamp) -> Timestamp {
        start.plus_micros(i64::try_from(self.ran).unwrap_or(i64::MAX))
    }
}

/// A user inside a project, with the names that the trace has.
#[derive(Clone, Debug)]
pub struct Person {
    pub member: Member,
    pub user: Arc<str>,
    pub project: Arc<str>,
    pub domain: Arc<str>,
}

/// What the cluster offers from an instant on.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    pub from: Timestamp,
    pub slots: Amounts,
}

/// What is replayed.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// By submission, then id.
    pub jobs: Vec<Job>,
    pub owners: Vec<Person>,
    /// What jobs ask for, each size once.
    pub sizes: Vec<Amounts>,
    /// By time.
    pub offers: Vec<Offer>,
}

impl History {
    pub fn owner(&self, job: &Job) -> &Person {
        &self.owners[job.owner as usize]
    }

    pub fn size(&self, job: &Job) -> &Amounts {
        &self.sizes[job.size as usize]
    }

    /// Whether any job waited before it really started. Many traces do not tell.
    pub fn waits_known(&self) -> bool {
        self.jobs.iter().any(|job| job.started_at > job.submitted_at)
    }

    /// What is offered from the instant of an offer on, or before the first: nothing of a slot is told as such.
    pub fn offered(&self, offer: Option<&Offer>) -> Amounts {
        let now = |slot| offer.and_then(|offer| offer.slots.get(slot)).unwrap_or_default();
        self.most_offered().iter().map(|(slot, _)| (slot, now(slot))).collect()
    }

    /// What the cluster offers at most, slot by slot.
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

/// Numbers the different values of a list.
#[derive(Debug)]
pub struct Numbers<K>(FastMap<K, u32>);

impl<K> Default for Numbers<K> {
    fn default() -> Self {
        Self(FastMap::default())
    }
}

impl<K: std::hash::Hash + Eq> Numbers<K> {
    /// The number of a value; one that is new gets the next, and is told to `new`.
    pub fn of(&mut self, value: K, new: impl FnOnce(&K)) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(value).or_insert_with_key(|value| {
            new(value);
            next
        })
    }
}
