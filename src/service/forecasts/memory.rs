//! The newest forecasts of each group, and its past, from which they are made.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::MAX_PAST_KERNELS;
use super::group_forecasts::GroupForecasts;
use crate::domain::forecast::PastWorkload;
use crate::domain::ids::GroupKey;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};
use crate::domain::workloads::{WorkloadMember, WorkloadMembers, group_members};

/// The age from which on the database is asked for newer forecasts, in microseconds. They are made once a minute.
const FRESH_MICROS: i64 = 65 * MICROS_PER_SECOND;
/// The time between two such questions, in microseconds.
const READ_AGAIN_MICROS: i64 = 5 * MICROS_PER_SECOND;
/// The age from which on forecasts are not shown any more, in microseconds.
const SHOWN_MICROS: i64 = 600 * MICROS_PER_SECOND;
/// The time for which the past is not read again, in microseconds: that of a past with few kernels, and that of another one.
const SHORT_PAST_KEPT_MICROS: i64 = 50 * MICROS_PER_SECOND;
const LONG_PAST_KEPT_MICROS: i64 = 600 * MICROS_PER_SECOND;
/// The number of kernels from which on a past is long.
const LONG_PAST_MIN_KERNELS: usize = 5_000;
/// The time by which the clock of the process that made forecasts may be ahead, in microseconds.
const CLOCK_LEAD_MICROS: i64 = 60 * MICROS_PER_SECOND;

/// The workloads of a group that have ended, by submission.
#[derive(Debug)]
pub struct KnownPast {
    pub read_at: Timestamp,
    /// The time since which all of them are known.
    pub from: Timestamp,
    /// The number of their kernels.
    pub kernels: usize,
    pub workloads: Vec<PastWorkload>,
}

#[derive(Default)]
struct GroupMemory {
    newest: Option<Arc<GroupForecasts>>,
    /// The time at which the database was last asked for newer ones.
    read_at: Option<Timestamp>,
    past: Option<Arc<KnownPast>>,
}

/// The forecasts of all groups.
#[derive(Default)]
pub struct ForecastMemory(Mutex<HashMap<GroupKey, GroupMemory>>);

/// True if less than `micros` have passed. A clock that was set back by more than a moment lets time pass.
fn is_within(since: Timestamp, now: Timestamp, micros: i64) -> bool {
    (-CLOCK_LEAD_MICROS..micros).contains(&now.micros().saturating_sub(since.micros()))
}

impl KnownPast {
    /// The past of a group of which nothing has to be known.
    pub fn nothing(now: Timestamp) -> Self {
        Self { read_at: now, from: now, kernels: 0, workloads: Vec::new() }
    }

    /// The workloads of the kernels that ended last.
    pub fn of<'q>(
        kernels: Vec<WorkloadMember>,
        now: Timestamp,
        queue_of: impl Fn(&WorkloadMembers) -> &'q str,
    ) -> Self {
        let count = kernels.len();
        let first_end = kernels.iter().filter_map(|kernel| kernel.ended_at).min();
        let ended = group_members(kernels);
        let mut workloads: Vec<PastWorkload> =
            ended.iter().flat_map(|workload| PastWorkload::runs_of(workload, queue_of(workload))).collect();
        workloads.sort_by_key(|workload| workload.submitted_at);
        let first_submission = workloads.first().map(|workload| workload.submitted_at);
        // Some of those that ended earlier are left out, or were never reported.
        let from = if count as u64 >= MAX_PAST_KERNELS { first_end } else { first_submission };
        Self { read_at: now, from: from.unwrap_or(now), kernels: count, workloads }
    }

    fn is_usable(&self, now: Timestamp) -> bool {
        let is_long = self.kernels >= LONG_PAST_MIN_KERNELS;
        is_within(self.read_at, now, if is_long { LONG_PAST_KEPT_MICROS } else { SHORT_PAST_KEPT_MICROS })
    }
}

impl ForecastMemory {
    fn lock(&self) -> MutexGuard<'_, HashMap<GroupKey, GroupMemory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps forecasts, unless there are newer ones. Those of a time that has not come are of a clock that was set back.
    pub fn keep(&self, group: GroupKey, forecasts: Arc<GroupForecasts>, now: Timestamp) {
        let mut groups = self.lock();
        let newest = &mut groups.entry(group).or_default().newest;
        if newest.as_ref().is_none_or(|known| known.as_of <= forecasts.as_of || known.as_of > now) {
            *newest = Some(forecasts);
        }
    }

    /// The newest forecasts that are known here and may still be shown.
    pub fn newest(&self, group: GroupKey, now: Timestamp) -> Option<Arc<GroupForecasts>> {
        let newest = self.lock().get(&group)?.newest.clone()?;
        is_within(newest.as_of, now, SHOWN_MICROS).then_some(newest)
    }

    /// True if the database may have newer forecasts and was not asked just now. It counts as asked from then on.
    pub fn is_to_be_read(&self, group: GroupKey, now: Timestamp) -> bool {
        let mut groups = self.lock();
        let memory = groups.entry(group).or_default();
        let is_fresh = memory.newest.as_ref().is_some_and(|known| is_within(known.as_of, now, FRESH_MICROS));
        let was_asked = memory.read_at.is_some_and(|read_at| is_within(read_at, now, READ_AGAIN_MICROS));
        if is_fresh || was_asked {
            return false;
        }
        memory.read_at = Some(now);
        true
    }

    /// The past, if it need not be read again.
    pub fn past(&self, group: GroupKey, now: Timestamp) -> Option<Arc<KnownPast>> {
        let past = self.lock().get(&group)?.past.clone()?;
        past.is_usable(now).then_some(past)
    }

    pub fn keep_past(&self, group: GroupKey, past: Arc<KnownPast>) {
        self.lock().entry(group).or_default().past = Some(past);
    }

    /// Frees forecasts that are not shown any more, and pasts that are to be read again.
    pub fn forget(&self, now: Timestamp) {
        self.lock().retain(|_, memory| {
            memory.past = memory.past.take().filter(|past| past.is_usable(now));
            let is_shown = |known: &Arc<GroupForecasts>| is_within(known.as_of, now, SHOWN_MICROS);
            memory.past.is_some() || memory.newest.as_ref().is_some_and(is_shown)
        });
    }
}
