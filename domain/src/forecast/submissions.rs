//! Workloads that will be submitted: those of the weeks before come again, each week by itself drawn from the weeks that are known.

use super::ForecastWorkload;
use super::random::RandomDraws;
use crate::time::{MICROS_PER_SECOND, Timestamp};

const MICROS_OF_HOUR: i64 = 3_600 * MICROS_PER_SECOND;
/// The stretches that are repeated, the longest first: a week has its weekend, and a day its night.
const STRETCHES: [i64; 3] = [7 * 24 * MICROS_OF_HOUR, 24 * MICROS_OF_HOUR, MICROS_OF_HOUR];
/// The number of stretches from which one is drawn.
const MAX_STRETCHES: i64 = 4;

/// A workload that was submitted.
#[derive(Clone, Debug)]
pub struct PastSubmission {
    pub submitted_at: Timestamp,
    pub workload: ForecastWorkload,
    /// The time that it ran, once it has ended.
    pub ran_seconds: Option<u32>,
    /// The number of waiting workloads that come before a new one of this owner.
    pub place: u32,
}

/// The submissions of one draw, one stretch after the other.
#[derive(Clone, Debug)]
pub struct ComingSubmissions {
    now: i64,
    stretch: i64,
    /// The number of stretches that are known.
    known: i64,
    /// The number of the present stretch, from 0.
    at: i64,
    /// The time that is added to one of the past in the present stretch.
    shift: i64,
    /// The next submission, and the end of those of the present stretch, as indices in the past.
    next: usize,
    end: usize,
}

impl ComingSubmissions {
    /// The submissions that follow those since `from`. `None` if that is too short a time.
    pub fn new(from: Timestamp, now: Timestamp) -> Option<Self> {
        let known = now.micros().saturating_sub(from.micros());
        let stretch = STRETCHES.into_iter().find(|stretch| known >= *stretch)?;
        let known = (known / stretch).min(MAX_STRETCHES);
        Some(Self { now: now.micros(), stretch, known, at: -1, shift: 0, next: 0, end: 0 })
    }

    /// The next submission as its time after now in microseconds, and its index in the past.
    pub fn next(&mut self, past: &[PastSubmission], random: &mut RandomDraws) -> (i64, Option<usize>) {
        if self.next == self.end {
            self.begin_stretch(past, random);
        }
        if self.next == self.end {
            // Nothing was submitted in the stretch; the next one begins at its end.
            return ((self.at + 1) * self.stretch, None);
        }
        let index = self.next;
        self.next += 1;
        ((past[index].submitted_at.micros() + self.shift - self.now).max(0), Some(index))
    }

    fn begin_stretch(&mut self, past: &[PastSubmission], random: &mut RandomDraws) {
        self.at += 1;
        let back = 1 + i64::try_from(random.below(usize::try_from(self.known).unwrap_or(1))).unwrap_or_default();
        let from = self.now - back * self.stretch;
        let to = from + self.stretch;
        self.shift = (back + self.at) * self.stretch;
        self.next = past.partition_point(|submission| submission.submitted_at.micros() < from);
        self.end = past.partition_point(|submission| submission.submitted_at.micros() < to);
    }
}
