//! The newest forecasts of each group, and its past, from which they are made.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::group_forecasts::GroupForecasts;
use crate::domain::forecast::PastWorkload;
use crate::domain::ids::GroupKey;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};

/// The age from which on the database is asked for newer forecasts, in microseconds. They are made once a minute.
const FRESH_MICROS: i64 = 65 * MICROS_PER_SECOND;
/// The time between two such questions, in microseconds.
const READ_AGAIN_MICROS: i64 = 5 * MICROS_PER_SECOND;
/// The age from which on forecasts are not shown any more, in microseconds.
const SHOWN_MICROS: i64 = 600 * MICROS_PER_SECOND;
/// The time for which a long past is not read again, in microseconds, and the number of workloads of a long one.
const PAST_MICROS: i64 = 600 * MICROS_PER_SECOND;
const LONG_PAST: usize = 5_000;

/// The workloads of a group that have ended, by submission.
#[derive(Debug)]
pub struct KnownPast {
    pub read_at: Timestamp,
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

/// True if less than `micros` have passed. A clock that was set back lets time pass.
fn is_within(since: Timestamp, now: Timestamp, micros: i64) -> bool {
    (0..micros).contains(&now.micros().saturating_sub(since.micros()))
}

impl ForecastMemory {
    fn lock(&self) -> MutexGuard<'_, HashMap<GroupKey, GroupMemory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps forecasts, unless there are newer ones.
    pub fn keep(&self, group: GroupKey, forecasts: Arc<GroupForecasts>) {
        let mut groups = self.lock();
        let newest = &mut groups.entry(group).or_default().newest;
        if newest.as_ref().is_none_or(|known| known.as_of <= forecasts.as_of) {
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
        (past.workloads.len() >= LONG_PAST && is_within(past.read_at, now, PAST_MICROS)).then_some(past)
    }

    pub fn keep_past(&self, group: GroupKey, past: Arc<KnownPast>) {
        self.lock().entry(group).or_default().past = Some(past);
    }

    /// Frees all that belongs to other groups than these, and forecasts that are not shown any more.
    pub fn forget(&self, now: Timestamp) {
        self.lock().retain(|_, memory| {
            memory.newest.as_ref().is_some_and(|known| is_within(known.as_of, now, SHOWN_MICROS))
                || memory.past.as_ref().is_some_and(|past| is_within(past.read_at, now, PAST_MICROS))
        });
    }
}
