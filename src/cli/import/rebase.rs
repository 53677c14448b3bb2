//! `--rebase-to-now`: an old trace moved so that its last event is now.
//!
//! Two passes over the file: [`last_event`] finds the end of the trace, then a reader with the
//! [`Shift`] moves every time by one offset, so that all durations and gaps stay what they were.

use super::job::ImportedJob;
use super::outcome::Reason;
use super::{ImportError, Reader, Row};
use crate::domain::time::Timestamp;

/// One offset in microseconds; no shift by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shift(i64);

impl Shift {
    /// Moves `from` onto `to`.
    pub fn onto(from: Timestamp, to: Timestamp) -> Self {
        Self(to.micros() - from.micros())
    }

    pub fn micros(self) -> i64 {
        self.0
    }

    /// `None` outside the years 1970 to 9999: a clamped time would bend durations.
    pub fn apply(self, time: Timestamp) -> Option<Timestamp> {
        let moved = time.micros().checked_add(self.0)?;
        let clamped = Timestamp::from_micros(moved);
        (clamped.micros() == moved).then_some(clamped)
    }

    pub(super) fn apply_to_job(self, mut job: ImportedJob) -> Result<ImportedJob, Reason> {
        for time in [&mut job.submitted_at, &mut job.started_at, &mut job.terminated_at].into_iter().flatten() {
            *time = self.apply(*time).ok_or(Reason::ShiftedOut)?;
        }
        Ok(job)
    }
}

/// Pass one: the last event of the jobs that the reader would take; `None` when it takes none.
pub fn last_event(reader: &mut Reader) -> Result<Option<Timestamp>, ImportError> {
    let mut last = None;
    for row in reader {
        if let Row::Job(job) = row? {
            last = last.max(job.last_event());
        }
    }
    Ok(last)
}
