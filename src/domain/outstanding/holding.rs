//! A kernel whose last slice is not recorded yet: what it has used since, and will still use, at any moment.

use super::Moment;
use crate::domain::changes::Changes;
use crate::domain::kernel::Unsettled;
use crate::domain::options::MOST_EXPECTED_SECONDS;
use crate::domain::run_times::Expected;
use crate::domain::slots::Amounts;
use crate::domain::time::{MICROS_PER_SECOND, Span, Timestamp};

/// No kernel is committed to more of the time to come, in microseconds.
const MOST_TO_COME: u64 = MOST_EXPECTED_SECONDS as u64 * MICROS_PER_SECOND.unsigned_abs();

#[derive(Clone, Debug, PartialEq)]
pub struct Holding {
    pub slots: Amounts,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    /// Until when its usage is recorded; every run makes all of this anew.
    cursor: Option<Timestamp>,
    /// How long it was said to run.
    told_seconds: Option<u32>,
    changes: Changes,
}

/// How what a kernel is charged goes on from a moment on.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// For how long its slots count at that moment, in microseconds.
    pub micros: u64,
    /// It grows as fast as time passes; otherwise it stays.
    pub grows: bool,
    /// Until when it goes on like that.
    pub until: Timestamp,
}

impl Holding {
    pub fn of(kernel: &Unsettled) -> Self {
        Self {
            slots: kernel.slots.clone(),
            started_at: kernel.started_at,
            ended_at: kernel.terminated_at,
            cursor: kernel.cursor,
            told_seconds: kernel.expected_seconds,
            changes: kernel.changes.clone(),
        }
    }

    /// Whether it runs at the moment, and is not suspended.
    pub fn runs(&self, now: Timestamp) -> bool {
        now >= self.started_at && self.ended_at.is_none_or(|end| now < end) && !self.changes.suspended_at(now)
    }

    fn counts_from(&self, moment: Moment) -> Timestamp {
        self.cursor.unwrap_or(self.started_at).max(self.started_at).max(moment.since)
    }

    /// From its last record on, as far as it has come.
    fn used(&self, moment: Moment) -> u64 {
        self.unrecorded(moment).map_or(0, |span| self.active_micros(span))
    }

    /// The time that no run has recorded.
    pub fn unrecorded(&self, moment: Moment) -> Option<Span> {
        Span::new(self.counts_from(moment), self.ended_at.map_or(moment.now, |end| end.min(moment.now)))
    }

    /// For how long of that time it was not suspended.
    pub fn active_micros(&self, span: Span) -> u64 {
        self.changes.active_micros(span.start, span.end)
    }

    /// For how long its slots will still count.
    pub fn committed(&self, now: Timestamp, expected: &Expected) -> u64 {
        self.to_come(now, expected).min(MOST_TO_COME)
    }

    /// From now on to its expected end.
    fn to_come(&self, now: Timestamp, expected: &Expected) -> u64 {
        match self.ended_at {
            // An end that is told ahead is known.
            Some(end) => Span::new(now.max(self.started_at), end).map_or(0, Span::micros),
            None if self.changes.ends_suspended() => 0,
            None => {
                let so_far = self.changes.active_micros(self.started_at, now);
                expected.micros(self.told_seconds).saturating_sub(so_far)
            }
        }
    }

    pub fn course(&self, moment: Moment, expected: &Expected) -> Course {
        let (now, from) = (moment.now, self.counts_from(moment));
        let (used, to_come) = (self.used(moment), self.to_come(moment.now, expected));
        let runs = self.runs(now);
        let grows = runs && now >= from;
        // What is to come gets less while the kernel runs, but not what is above the limit.
        let shrinks = to_come > 0
            && to_come <= MOST_TO_COME
            && if self.ended_at.is_some() { now >= self.started_at } else { runs };
        let left = if to_come > MOST_TO_COME { to_come - MOST_TO_COME } else { to_come };
        let known = [Some(from), Some(self.started_at), self.ended_at, self.changes.next_after(now)];
        let turns = known.into_iter().flatten().chain((left > 0).then(|| now.plus_micros(left.cast_signed())));
        Course {
            micros: used + to_come.min(MOST_TO_COME),
            grows: grows && !shrinks,
            // What gets less is not followed; it is calculated again at each moment.
            until: if shrinks && !grows {
                now
            } else {
                turns.filter(|turn| *turn > now).min().unwrap_or(Timestamp::MAX)
            },
        }
    }
}
