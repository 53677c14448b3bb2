//! The input of a replay: jobs with their owners and sizes, and the capacity of the cluster.

use std::sync::Arc;

use crate::ids::Member;
use crate::maps::FastMap;
use crate::slots::SlotAmounts;
use crate::time::{MICROS_PER_SECOND, Timestamp};

/// A job as it really ran.
#[derive(Clone, Debug)]
pub struct TraceJob {
    pub id: Box<str>,
    /// An index in [`ReplayHistory::owners`].
    pub owner: u32,
    /// An index in [`ReplayHistory::sizes`].
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

impl TraceJob {
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
pub struct TraceUser {
    pub member: Member,
    pub user: Arc<str>,
    pub project: Arc<str>,
    pub domain: Arc<str>,
}

/// The capacity of the cluster from an instant on.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityOffer {
    pub from: Timestamp,
    pub slots: SlotAmounts,
}

/// The input of a replay.
#[derive(Clone, Debug, Default)]
pub struct ReplayHistory {
    /// The jobs, ordered by submission, then id.
    pub jobs: Vec<TraceJob>,
    pub owners: Vec<TraceUser>,
    /// The different sizes of jobs.
    pub sizes: Vec<SlotAmounts>,
    /// The capacities, ordered by time.
    pub offers: Vec<CapacityOffer>,
}

impl ReplayHistory {
    pub fn owner(&self, job: &TraceJob) -> &TraceUser {
        &self.owners[job.owner as usize]
    }

    pub fn size(&self, job: &TraceJob) -> &SlotAmounts {
        &self.sizes[job.size as usize]
    }

    /// True if any job waited before its real start. Many traces do not contain waits.
    pub fn waits_known(&self) -> bool {
        self.jobs.iter().any(|job| job.started_at > job.submitted_at)
    }

    /// The capacity of an offer; `None` stands for the time before the first one. Slots that are offered at another
    /// time are 0, not absent.
    pub fn offered(&self, offer: Option<&CapacityOffer>) -> SlotAmounts {
        let now = |slot| offer.and_then(|offer| offer.slots.get(slot)).unwrap_or_default();
        self.most_offered().iter().map(|(slot, _)| (slot, now(slot))).collect()
    }

    /// The largest capacity of each slot.
    pub fn most_offered(&self) -> SlotAmounts {
        let mut most = SlotAmounts::default();
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
pub struct ConsecutiveNumbers<K>(FastMap<K, u32>);

impl<K> Default for ConsecutiveNumbers<K> {
    fn default() -> Self {
        Self(FastMap::default())
    }
}

impl<K: std::hash::Hash + Eq> ConsecutiveNumbers<K> {
    /// The number of a value. A new value gets the next number, and `new` is called with it.
    pub fn of(&mut self, value: K, new: impl FnOnce(&K)) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(value).or_insert_with_key(|value| {
            new(value);
            next
        })
    }
}
