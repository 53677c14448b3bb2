//! The run times of jobs that have ended, by owner and class of size.
//!
//! Where the owner announced a run time, the model knows the real one as a part of it; otherwise it knows run times in seconds. Both
//! are histograms on a logarithmic scale. An owner with few jobs of a class is taken for one of the project, and that for one of the
//! group.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ids::{Member, ProjectId};
use crate::maps::FastMap;
use crate::slots::SlotAmounts;
use crate::time::MICROS_PER_SECOND;

/// The number of bins of a histogram for each doubling.
const BINS_OF_DOUBLING: f64 = 8.0;
/// The smallest number of jobs from which run times are drawn.
const MIN_JOBS: u32 = 10;
/// The shortest run time, in seconds, so that the scale begins somewhere.
const MIN_SECONDS: f64 = 1.0;

/// Jobs that are alike in what they ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JobClass {
    /// The part of the capacity, in doublings: 0 for all of it, -1 for a half.
    size: i8,
    /// The announced run time, in steps of a factor of four from a minute on; `None`: none was announced.
    asked: Option<u8>,
}

impl JobClass {
    /// The class of a job that asks for these slots of the capacity.
    pub fn of(slots: &SlotAmounts, capacity: &SlotAmounts, asked_seconds: Option<u32>) -> Self {
        let part = slots.for_micros(MICROS_PER_SECOND.unsigned_abs()).dominant_part(capacity);
        let size = if part > 0.0 { part.log2().ceil().clamp(-40.0, 0.0) as i8 } else { i8::MIN };
        Self { size, asked: None }.asking(asked_seconds)
    }

    /// The class of jobs of the same size that announce this run time.
    pub(super) fn asking(self, asked_seconds: Option<u32>) -> Self {
        let asked = asked_seconds.map(|seconds| ((f64::from(seconds) / 60.0).max(1.0).log2() / 2.0) as u8);
        Self { asked, ..self }
    }
}

/// Counts on a logarithmic scale.
#[derive(Clone, Debug, Default)]
struct LogHistogram {
    bins: BTreeMap<i16, u32>,
    jobs: u32,
}

impl LogHistogram {
    fn add(&mut self, value: f64) {
        let bin = (value.log2() * BINS_OF_DOUBLING).floor() as i16;
        *self.bins.entry(bin).or_default() += 1;
        self.jobs = self.jobs.saturating_add(1);
    }

    /// The value above `least` below which this fraction of those above it lies; `None` if none is known.
    fn draw_above(&self, least: f64, fraction: f64) -> Option<f64> {
        let edge = |bin: i16| f64::from(bin) / BINS_OF_DOUBLING;
        let least = if least > 0.0 { least.log2() } else { f64::NEG_INFINITY };
        let first = if least.is_finite() { (least * BINS_OF_DOUBLING).floor() as i16 } else { i16::MIN };
        // The bin with `least` counts with the part above it.
        let from = |bin: i16| edge(bin).max(least);
        let weight = |bin: i16, jobs: u32| f64::from(jobs) * (edge(bin + 1) - from(bin)) * BINS_OF_DOUBLING;
        let total: f64 = self.bins.range(first..).map(|(bin, jobs)| weight(*bin, *jobs)).sum();
        if total <= 0.0 {
            return None;
        }
        let mut left = fraction * total;
        let mut last = None;
        for (bin, jobs) in self.bins.range(first..) {
            let own = weight(*bin, *jobs);
            last = Some(*bin);
            if left < own {
                let place = from(*bin) + left / own * (edge(*bin + 1) - from(*bin));
                return Some(place.exp2());
            }
            left -= own;
        }
        // Rounding has left a rest after the last bin.
        last.map(|bin| edge(bin + 1).exp2())
    }
}

/// The jobs over which a histogram counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum HistogramScope {
    Owner(Member, JobClass),
    Project(ProjectId, JobClass),
    Group(JobClass),
    /// All jobs that announced a run time, or all that did not.
    All(bool),
}

impl HistogramScope {
    fn all_of(owner: Member, class: JobClass) -> [Self; 4] {
        [
            Self::Owner(owner, class),
            Self::Project(owner.project, class),
            Self::Group(class),
            Self::All(class.asked.is_some()),
        ]
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct RunTimeModel {
    histograms: FastMap<HistogramScope, LogHistogram>,
    jobs: u32,
}

impl RunTimeModel {
    /// Adds a job that ran to its end.
    pub fn add(&mut self, owner: Member, class: JobClass, asked_seconds: Option<u32>, ran_seconds: f64) {
        let ran = ran_seconds.max(MIN_SECONDS);
        let value = asked_seconds.map_or(ran, |asked| ran / f64::from(asked.max(1)));
        for scope in HistogramScope::all_of(owner, class) {
            self.histograms.entry(scope).or_default().add(value);
        }
        self.jobs = self.jobs.saturating_add(1);
    }

    /// True if enough jobs have ended to draw from.
    pub fn is_sufficient(&self) -> bool {
        self.jobs >= MIN_JOBS
    }

    /// A run time in seconds of a job that has already run for `elapsed` seconds; `None` if no job like it is known.
    fn draw(&self, job: &DrawnJob, elapsed: f64, fraction: f64) -> Option<f64> {
        let unit = job.asked_seconds.map_or(1.0, |asked| f64::from(asked.max(1)));
        HistogramScope::all_of(job.owner, job.class).into_iter().find_map(|scope| {
            let known = self.histograms.get(&scope).filter(|histogram| histogram.jobs >= MIN_JOBS);
            Some(known?.draw_above(elapsed / unit, fraction)? * unit)
        })
    }
}

/// A job whose run time is drawn.
#[derive(Clone, Copy, Debug)]
pub struct DrawnJob {
    pub owner: Member,
    pub class: JobClass,
    pub asked_seconds: Option<u32>,
    pub expected_seconds: Option<u32>,
}

/// The source of the run times of the future.
#[derive(Clone, Debug)]
pub enum RunTimeSource {
    Learned(Arc<RunTimeModel>),
    /// Every job runs as long as the scheduler expects.
    Expected,
}

impl RunTimeSource {
    pub(super) fn is_sufficient(&self) -> bool {
        match self {
            Self::Learned(model) => model.is_sufficient(),
            Self::Expected => true,
        }
    }

    /// The run time in seconds of a job that has already run for `elapsed` seconds: the one below which this fraction of those
    /// that are possible lies.
    pub(super) fn draw(&self, job: &DrawnJob, elapsed: f64, fraction: f64) -> f64 {
        let announced = job.asked_seconds.map(f64::from);
        match self {
            Self::Learned(model) => model.draw(job, elapsed, fraction).unwrap_or_else(|| {
                // It has run longer than all before it, or none has announced its run time as it did.
                let longest = announced.unwrap_or(elapsed * 2.0).max(elapsed * 1.25).max(MIN_SECONDS);
                elapsed + fraction * (longest - elapsed)
            }),
            Self::Expected => job.expected_seconds.map_or(elapsed * 2.0, f64::from).max(elapsed).max(MIN_SECONDS),
        }
    }
}
