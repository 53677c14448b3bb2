//! `--rebase-to-now`: an old trace moved so that its last event is now.
//!
//! Two passes over the file: [`survey`] finds the end of the trace, then a reader with the
//! [`Shift`] moves every time by one offset, so that all durations and gaps stay what they were.

use super::api::Known;
use super::job::ImportedJob;
use super::reason::Reason;
use super::{ImportError, Reader, Row};
use crate::domain::ids::KernelId;
use crate::domain::time::Timestamp;

/// Jobs that are asked for in the database: enough to meet one that an earlier import kept.
const ANCHORS: usize = 1_000;

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

    /// Where a time that was moved comes from.
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

/// What pass one finds out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Survey {
    /// The last event of the jobs that the reader would take; `None` when it takes none.
    pub last_event: Option<Timestamp>,
    /// The first jobs, each with a time that tells how far an earlier import has moved it.
    pub anchors: Vec<(KernelId, Anchor)>,
}

/// A time that a job has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start(Timestamp),
    End(Timestamp),
}

/// Pass one.
pub fn survey(reader: &mut Reader) -> Result<Survey, ImportError> {
    let mut found = Survey::default();
    for row in reader {
        if let Row::Job(job) = row? {
            found.last_event = found.last_event.max(job.last_event());
            let anchor = job.started_at.map(Anchor::Start).or(job.terminated_at.map(Anchor::End));
            if let Some(anchor) = anchor.filter(|_| found.anchors.len() < ANCHORS) {
                found.anchors.push((job.kernel_id(), anchor));
            }
        }
    }
    Ok(found)
}

impl Survey {
    /// The one offset for the whole trace. A trace of which a job is known already keeps the place
    /// that it has, or a second import would move it.
    pub fn shift(&self, known: &[Known], now: Timestamp) -> Shift {
        let earlier = self.anchors.iter().find_map(|(id, anchor)| {
            let report = known.iter().find(|report| report.id == *id)?;
            Some(match *anchor {
                Anchor::Start(start) => Shift::onto(start, report.started_at?),
                Anchor::End(end) => Shift::onto(end, report.terminated_at?),
            })
        });
        earlier.or_else(|| Some(Shift::onto(self.last_event?, now))).unwrap_or_default()
    }
}
