//! What kernels have used since their records end, and what those that run will still use (FAIR_SHARE §10). It follows from the
//! kernels at the moment when somebody asks, so nothing is stored that could be left behind.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::changes::Changes;
use super::ids::{KernelId, KernelKey, Member};
use super::kernel::{Kernel, Unsettled};
use super::options::MOST_EXPECTED_SECONDS;
use super::shards::Shards;
use super::slots::{Amounts, Usages};
use super::time::{MICROS_PER_HOUR, MICROS_PER_SECOND, Span, Timestamp};

/// A kernel whose last slice is not recorded yet.
#[derive(Clone, Debug, PartialEq)]
struct Holding {
    slots: Amounts,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    /// It has started and not ended, but uses nothing for now.
    suspended: bool,
    /// Until when its usage is recorded; every run makes all of this anew.
    cursor: Option<Timestamp>,
    /// How long it was said to run.
    told_seconds: Option<u32>,
    /// Mostly none.
    changes: Option<Box<Changes>>,
}

/// How long an owner's kernels run.
pub trait Expectation {
    /// From its start, without suspensions, of a kernel that was said to run `told` seconds.
    fn micros(&self, told: Option<u32>) -> u64;
}

/// When something is asked, and from when on usage counts at all.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub since: Timestamp,
    pub now: Timestamp,
}

/// No kernel is committed to more of the time to come, in microseconds.
const MOST_TO_COME: u64 = MOST_EXPECTED_SECONDS as u64 * MICROS_PER_SECOND.unsigned_abs();
/// For so long kernels that have ended are remembered, in microseconds.
const MEMORY: i64 = MICROS_PER_HOUR;

/// The started kernels of a group whose last slice is not recorded yet, by owner.
#[derive(Clone, Debug, Default)]
pub struct Outstanding {
    by_owner: Shards<Member, Arc<BTreeMap<KernelKey, Arc<Holding>>>>,
    /// All of them, whoever has them.
    known: Shards<KernelId, ()>,
    /// Those that have ended and are recorded, with their ends.
    ended: Shards<KernelId, Timestamp>,
}

impl Holding {
    fn of(kernel: &Unsettled) -> Self {
        let changes = &kernel.changes;
        Self {
            slots: kernel.slots.clone(),
            started_at: kernel.started_at,
            ended_at: kernel.terminated_at,
            suspended: changes.ends_suspended(),
            cursor: kernel.cursor,
            told_seconds: kernel.expected_seconds,
            changes: (!changes.is_empty()).then(|| Box::new(changes.clone())),
        }
    }

    /// From its last record on, as far as it has come, and on to its expected end.
    fn micros(&self, moment: Moment, expectation: &impl Expectation) -> u64 {
        let Moment { since, now } = moment;
        let active = |from: Timestamp, until: Timestamp| {
            Span::new(from, until).map_or(0, |whole| match &self.changes {
                None => whole.micros(),
                Some(changes) => changes.active(whole).map(Span::micros).sum(),
            })
        };
        let until = self.ended_at.map_or(now, |end| end.min(now));
        let used = active(self.cursor.unwrap_or(self.started_at).max(self.started_at).max(since), until);
        let to_come = match self.ended_at {
            // An end that is told ahead is known.
            Some(end) => Span::new(now.max(self.started_at), end).map_or(0, Span::micros),
            None if self.suspended => 0,
            None => expectation.micros(self.told_seconds).saturating_sub(active(self.started_at, now)),
        };
        used + to_come.min(MOST_TO_COME)
    }
}

impl Outstanding {
    pub fn put(&mut self, kernel: &Unsettled) {
        self.known.insert(kernel.id, ());
        let kernels = self.by_owner.get_or_insert_with(&kernel.owner, || (kernel.owner, Arc::default()));
        Arc::make_mut(kernels).insert(kernel.key, Arc::new(Holding::of(kernel)));
    }

    fn remove(&mut self, key: KernelKey, id: KernelId, owner: Member) {
        self.known.remove(&id);
        let Some(kernels) = self.by_owner.get_mut(&owner) else { return };
        let left = Arc::make_mut(kernels);
        left.remove(&key);
        if left.is_empty() {
            self.by_owner.remove(&owner);
        }
    }

    /// Notes what a report made of a kernel.
    pub fn changed(&mut self, kernel: &Kernel) {
        let Some(key) = kernel.key else { return };
        let (id, owner) = (kernel.report.id, kernel.report.owner);
        match Unsettled::of(kernel) {
            Some(unsettled) => self.put(&unsettled),
            None => self.remove(key, id, owner),
        }
        if let Some(end) = kernel.report.terminated_at.filter(|_| kernel.settled) {
            self.ended.insert(id, end);
        }
    }

    /// Notes that a kernel has ended, and that all of it is recorded.
    pub fn settled(&mut self, id: KernelId, end: Timestamp) {
        self.ended.insert(id, end);
    }

    /// Remembers kernels that had ended in `before`, unless that is long ago.
    pub fn remember(&mut self, before: &Self, now: Timestamp) {
        let first = now.plus_micros(-MEMORY);
        let mut recent = Shards::default();
        for (id, end) in self.ended.iter().chain(before.ended.iter()).filter(|(_, end)| **end >= first) {
            recent.insert(*id, *end);
        }
        self.ended = recent;
    }

    /// Whether the kernel has started and runs, or has ended within the last hour.
    pub fn knows(&self, id: KernelId) -> bool {
        self.known.contains_key(&id) || self.ended.contains_key(&id)
    }

    /// How many kernels there are that have started.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// What the owner's kernels have used since their records end, and will still use.
    pub fn usage(&self, owner: Member, moment: Moment, expectation: &impl Expectation) -> Usages {
        let mut sum = Usages::default();
        for holding in self.by_owner.get(&owner).into_iter().flat_map(|kernels| kernels.values()) {
            sum.add(&holding.slots.for_micros(holding.micros(moment, expectation)));
        }
        sum
    }

    /// Who has such kernels, in no order.
    pub fn owners(&self) -> impl Iterator<Item = Member> + '_ {
        self.by_owner.iter().map(|(owner, _)| *owner)
    }
}
