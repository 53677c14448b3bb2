//! `--rebase-to-now`: moves an old trace so that its last event is now.
//!
//! The file is read twice: [`survey`] finds the end of the trace, then a reader with the [`Shift`] moves every time by
//! the same offset, so that all durations and gaps stay the same.

use super::api::Known;
use super::job::ImportedJob;
use super::reason::Reason;
use super::{ImportError, Reader, Row};
use crate::domain::ids::KernelId;
use crate::domain::time::Timestamp;

/// The number of jobs that are looked up in the database. It is large enough to find one that an earlier import has
/// stored.
const ANCHORS: usize = 1_000;

/// An offset in microseconds; 0 by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shift(i64);

impl Shift {
    /// The shift that moves `from` to `to`.
    pub fn onto(from: Timestamp, to: Timestamp) -> Self {
        Self(to.micros() - from.micros())
    }

    pub fn micros(self) -> i64 {
        self.0
    }

    /// `None` outside the years 1970 to 9999, because a clamped time would change durations.
    pub fn apply(self, time: Timestamp) -> Option<Timestamp> {
        let moved = time.micros().checked_add(self.0)?;
        let clamped = Timestamp::from_micros(moved);
        (clamped.micros() == moved).then_some(clamped)
    }

    /// The original time of a moved one.
    pub(super) fn back(self, time: Timestamp) -> Timestamp {
        time.plus_micros(self.0.saturating_neg())
    }

    pub(super) fn apply_to_job(self, mut job: ImportedJob) -> Result<ImportedJob, Reason> {
        for time in [&mut job.submitted_at, &mut job.started_at, &mut job.terminated_at].into_iter().flatten() {
            *time = self.apply(*time).ok_or(Reason::ShiftedOut)?;
        }
        Ok(job)
    }
}

/// The result of the first pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Survey {
    /// The last event of the jobs that the reader would take; `None` if it takes none.
    pub last_event: Option<Timestamp>,
    /// The first jobs, each with a time from which the shift of an earlier import follows.
    pub anchors: Vec<(KernelId, ReferenceTime)>,
}

/// A time of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceTime {
    Start(Timestamp),
    End(Timestamp),
}

/// The first pass.
pub fn survey(reader: &mut Reader) -> Result<Survey, ImportError> {
    let mut found = Survey::default();
    for row in reader {
        if let Row::Job(job) = row? {
            found.last_event = found.last_event.max(job.last_event());
            let anchor = job.started_at.map(ReferenceTime::Start).or(job.terminated_at.map(ReferenceTime::End));
            if let Some(anchor) = anchor.filter(|_| found.anchors.len() < ANCHORS) {
                found.anchors.push((job.kernel_id(), anchor));
            }
        }
    }
    Ok(found)
}

impl Survey {
    /// The offset for the whole trace. If a job of the trace is known already, the offset of the earlier import is
    /// used, because otherwise a second import would move it.
    pub fn shift(&self, known: &[Known], now: Timestamp) -> Shift {
        let earlier = self.anchors.iter().find_map(|(id, anchor)| {
            let report = known.iter().find(|report| report.id == *id)?;
            Some(match *anchor {
                ReferenceTime::Start(start) => Shift::onto(start, report.started_at?),
                ReferenceTime::End(end) => Shift::onto(end, report.terminated_at?),
            })
        });
        earlier.or_else(|| Some(Shift::onto(self.last_event?, now))).unwrap_or_default()
    }
}
