//! A kernel whose last slice is not recorded yet: its usage since its last record, and its expected usage, at any
//! moment.

use std::ops::Deref;
use std::sync::Arc;

use super::{GroupCursor, RequestMoment};
use crate::kernel::{OpenKernel, StartedKernel};
use crate::options::MAX_EXPECTED_SECONDS;
use crate::run_times::ExpectedRuntime;
use crate::time::{MICROS_PER_SECOND, TimeSpan, Timestamp};

/// The longest time to come that a kernel is committed to, in microseconds.
const MAX_COMMITTED_MICROS: u64 = MAX_EXPECTED_SECONDS as u64 * MICROS_PER_SECOND.unsigned_abs();

#[derive(Clone, Debug)]
pub struct KernelUsage {
    kernel: Arc<StartedKernel>,
    cursor: RecordedUntil,
}

/// The end of the recorded usage of a kernel.
#[derive(Clone, Copy, Debug)]
enum RecordedUntil {
    /// The cursor of the group. A run moves only that one cursor, so it leaves most kernels unchanged.
    InStep,
    Own(Timestamp),
    /// Nothing is recorded.
    Unrecorded,
}

impl Deref for KernelUsage {
    type Target = StartedKernel;

    fn deref(&self) -> &StartedKernel {
        &self.kernel
    }
}

/// The charge of a kernel from a moment on.
#[derive(Clone, Copy, Debug)]
pub struct ChargeProjection {
    /// The time for which its slots count at that moment, in microseconds.
    pub micros: u64,
    /// True if that time grows as fast as the clock; otherwise it stays constant.
    pub grows: bool,
    /// The moment until which this is valid.
    pub until: Timestamp,
}

impl KernelUsage {
    pub fn of(kernel: &OpenKernel) -> Self {
        let cursor = match kernel.cursor {
            Some(_) if kernel.in_step => RecordedUntil::InStep,
            Some(cursor) => RecordedUntil::Own(cursor),
            None => RecordedUntil::Unrecorded,
        };
        Self { kernel: Arc::clone(&kernel.kernel), cursor }
    }

    /// True if the kernel is recorded up to the group's cursor.
    pub fn is_in_step(&self) -> bool {
        matches!(self.cursor, RecordedUntil::InStep)
    }

    /// True if the kernel runs at `now` and is not suspended.
    pub fn runs(&self, now: Timestamp) -> bool {
        now >= self.started_at && self.terminated_at.is_none_or(|end| now < end) && !self.changes.suspended_at(now)
    }

    fn counts_from(&self, moment: RequestMoment, recorded: GroupCursor) -> Timestamp {
        let cursor = match self.cursor {
            RecordedUntil::InStep => recorded.until,
            RecordedUntil::Own(cursor) => Some(cursor),
            RecordedUntil::Unrecorded => None,
        };
        cursor.unwrap_or(self.started_at).max(self.started_at).max(moment.since)
    }

    /// The unrecorded time without suspensions, in microseconds.
    fn used(&self, moment: RequestMoment, recorded: GroupCursor) -> u64 {
        self.unrecorded(moment, recorded).map_or(0, |span| self.active_micros(span))
    }

    /// The time that no run has recorded.
    pub fn unrecorded(&self, moment: RequestMoment, recorded: GroupCursor) -> Option<TimeSpan> {
        TimeSpan::new(
            self.counts_from(moment, recorded),
            self.terminated_at.map_or(moment.now, |end| end.min(moment.now)),
        )
    }

    /// The part of that time without suspensions, in microseconds.
    pub fn active_micros(&self, span: TimeSpan) -> u64 {
        self.changes.active_micros(span.start, span.end)
    }

    /// The time for which its slots are expected to count further, in microseconds.
    pub fn committed(&self, now: Timestamp, expected: &ExpectedRuntime) -> u64 {
        self.to_come(now, expected).min(MAX_COMMITTED_MICROS)
    }

    /// The time from `now` to the expected end, in microseconds.
    fn to_come(&self, now: Timestamp, expected: &ExpectedRuntime) -> u64 {
        match self.terminated_at {
            // The end is known in advance.
            Some(end) => TimeSpan::new(now.max(self.started_at), end).map_or(0, TimeSpan::micros),
            None if self.changes.ends_suspended() => 0,
            None => {
                let so_far = self.changes.active_micros(self.started_at, now);
                expected.micros(self.expected_seconds).saturating_sub(so_far)
            }
        }
    }

    pub fn charge_projection(
        &self,
        moment: RequestMoment,
        recorded: GroupCursor,
        expected: &ExpectedRuntime,
    ) -> ChargeProjection {
        let (now, from) = (moment.now, self.counts_from(moment, recorded));
        let (used, to_come) = (self.used(moment, recorded), self.to_come(moment.now, expected));
        let runs = self.runs(now);
        let grows = runs && now >= from;
        // The remaining time shrinks while the kernel runs, unless it is above the limit.
        let shrinks = to_come > 0
            && to_come <= MAX_COMMITTED_MICROS
            && if self.terminated_at.is_some() { now >= self.started_at } else { runs };
        let left = if to_come > MAX_COMMITTED_MICROS { to_come - MAX_COMMITTED_MICROS } else { to_come };
        let known = [Some(from), Some(self.started_at), self.terminated_at, self.changes.next_after(now)];
        let turns = known.into_iter().flatten().chain((left > 0).then(|| now.plus_micros(left.cast_signed())));
        ChargeProjection {
            micros: used + to_come.min(MAX_COMMITTED_MICROS),
            grows: grows && !shrinks,
            // A charge that shrinks is valid only at `now`, so it is computed again at every moment.
            until: if shrinks && !grows {
                now
            } else {
                turns.filter(|turn| *turn > now).min().unwrap_or(Timestamp::MAX)
            },
        }
    }
}
