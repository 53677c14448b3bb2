//! `--rebase-to-now`: moves an old trace so that its last event is now.
//!
//! The file is read twice: [`survey_trace`] finds the end of the trace, then a reader with the [`TimeShift`] moves every time by
//! the same offset, so that all durations and gaps stay the same.

use super::api::ServerKernel;
use super::job::ImportedJob;
use super::reason::DropReason;
use super::{ImportError, JobRow, TraceReader};
use crate::domain::ids::KernelId;
use crate::domain::time::Timestamp;

/// The number of jobs that are looked up in the database. It is large enough to find one that an earlier import has
/// stored.
const REFERENCE_JOBS: usize = 1_000;

/// An offset in microseconds; 0 by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeShift(i64);

impl TimeShift {
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

    pub(super) fn apply_to_job(self, mut job: ImportedJob) -> Result<ImportedJob, DropReason> {
        for time in [&mut job.submitted_at, &mut job.started_at, &mut job.terminated_at].into_iter().flatten() {
            *time = self.apply(*time).ok_or(DropReason::ShiftedOut)?;
        }
        Ok(job)
    }
}

/// The result of the first pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceSurvey {
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
pub fn survey_trace(reader: &mut TraceReader) -> Result<TraceSurvey, ImportError> {
    let mut found = TraceSurvey::default();
    for row in reader {
        if let JobRow::Job(job) = row? {
            found.last_event = found.last_event.max(job.last_event());
            let anchor = job.started_at.map(ReferenceTime::Start).or(job.terminated_at.map(ReferenceTime::End));
            if let Some(anchor) = anchor.filter(|_| found.anchors.len() < REFERENCE_JOBS) {
                found.anchors.push((job.kernel_id(), anchor));
            }
        }
    }
    Ok(found)
}

impl TraceSurvey {
    /// The offset for the whole trace. If a job of the trace is known already, the offset of the earlier import is
    /// used, because otherwise a second import would move it.
    pub fn shift(&self, known: &[ServerKernel], now: Timestamp) -> TimeShift {
        let earlier = self.anchors.iter().find_map(|(id, anchor)| {
            let report = known.iter().find(|report| report.id == *id)?;
            Some(match *anchor {
                ReferenceTime::Start(start) => TimeShift::onto(start, report.started_at?),
                ReferenceTime::End(end) => TimeShift::onto(end, report.terminated_at?),
            })
        });
        earlier.or_else(|| Some(TimeShift::onto(self.last_event?, now))).unwrap_or_default()
    }
}
