//! The runtimes of kernels that have ended, as sums from which kernels can be subtracted again.

use std::fmt;
use std::ops::{AddAssign, Neg};
use std::str::FromStr;
use std::sync::Arc;

use super::changes::SuspensionChanges;
use super::options::FairShareOptions;
use super::time::{MICROS_PER_SECOND, Timestamp};

/// Sums over kernels that have ended. Times are in microseconds, without suspensions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunTimes {
    /// The number of kernels. It distinguishes kernels that ran for no time from no kernels.
    kernels: i64,
    ran: i128,
    /// The sum of the squares of the runtimes.
    squares: i128,
    /// The sum of the announced runtimes, of kernels that had one.
    expected_micros: i128,
    /// The sum of the actual runtimes of the same kernels.
    took: i128,
}

impl RunTimes {
    /// The sums for one kernel.
    pub fn of(start: Timestamp, end: Timestamp, changes: &SuspensionChanges, reported_seconds: Option<u32>) -> Self {
        let ran = i128::from(changes.active_micros(start, end));
        let expected_micros = i128::from(reported_seconds.unwrap_or(0)) * i128::from(MICROS_PER_SECOND);
        let took = if reported_seconds.is_some() { ran } else { 0 };
        Self { kernels: 1, ran, squares: ran.saturating_mul(ran), expected_micros, took }
    }

    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// The mean runtime weighted by the runtimes themselves, in microseconds: the mean that applies to a kernel that is
    /// found running. `None` if no kernel has run.
    pub fn mean_micros(&self) -> Option<u64> {
        (self.ran > 0).then(|| u64::try_from(self.squares / self.ran).unwrap_or(0))
    }
}

/// Identifies the expected runtimes of a group. Two editions are equal only if one is a copy of the other.
#[derive(Clone, Debug, Default)]
pub struct CacheGeneration(Arc<()>);

impl PartialEq for CacheGeneration {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The expected runtime of one owner's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedRuntime {
    /// The sums of the actual and the announced runtimes, of kernels that had one.
    took: i128,
    expected_micros: i128,
    /// The expected runtime of kernels without an announced one, in microseconds.
    otherwise: u64,
}

impl ExpectedRuntime {
    /// Uses the runtimes of the owner's kernels, otherwise those of the whole group, otherwise the options.
    pub fn new(own: RunTimes, group: RunTimes, options: &FairShareOptions) -> Self {
        let seconds = options.expected_seconds.unwrap_or(options.slice_interval_seconds);
        let learned = own.mean_micros().or_else(|| group.mean_micros());
        Self {
            took: own.took,
            expected_micros: own.expected_micros,
            otherwise: learned.unwrap_or_else(|| to_micros(seconds)),
        }
    }

    /// The expected time from start to end without suspensions, in microseconds. The argument is the announced runtime
    /// in seconds.
    pub fn micros(&self, expected_micros: Option<u32>) -> u64 {
        // At least a second, so that no kernel is free of charge because an earlier one failed at once.
        expected_micros
            .map_or(self.otherwise, |expected_micros| self.corrected(to_micros(expected_micros)))
            .max(to_micros(1))
    }

    /// The announced runtime, increased if earlier kernels ran longer than announced.
    fn corrected(&self, expected_micros: u64) -> u64 {
        if self.expected_micros <= 0 || self.took <= self.expected_micros {
            return expected_micros;
        }
        let corrected = i128::from(expected_micros).saturating_mul(self.took) / self.expected_micros;
        u64::try_from(corrected).unwrap_or(u64::MAX)
    }
}

fn to_micros(seconds: u32) -> u64 {
    u64::from(seconds) * MICROS_PER_SECOND.unsigned_abs()
}

impl AddAssign for RunTimes {
    fn add_assign(&mut self, other: Self) {
        self.kernels = self.kernels.saturating_add(other.kernels);
        self.ran = self.ran.saturating_add(other.ran);
        self.squares = self.squares.saturating_add(other.squares);
        self.expected_micros = self.expected_micros.saturating_add(other.expected_micros);
        self.took = self.took.saturating_add(other.took);
    }
}

impl Neg for RunTimes {
    type Output = Self;

    fn neg(self) -> Self {
        let Self { kernels, ran, squares, expected_micros, took } = self;
        Self { kernels: -kernels, ran: -ran, squares: -squares, expected_micros: -expected_micros, took: -took }
    }
}

/// The stored form: number of kernels, sum, sum of squares, announced and actual runtimes.
impl fmt::Display for RunTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {} {}", self.kernels, self.ran, self.squares, self.expected_micros, self.took)
    }
}

#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("not the sums of run times")]
pub struct RunTimesError;

impl FromStr for RunTimes {
    type Err = RunTimesError;

    fn from_str(text: &str) -> Result<Self, RunTimesError> {
        let mut parts = text.split(' ').map(|part| part.parse::<i128>().map_err(|_| RunTimesError));
        let mut next = || parts.next().ok_or(RunTimesError)?;
        let kernels = i64::try_from(next()?).map_err(|_| RunTimesError)?;
        Ok(Self { kernels, ran: next()?, squares: next()?, expected_micros: next()?, took: next()? })
    }
}
