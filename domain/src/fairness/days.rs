//! Spans of whole days over which usage is compared.

use crate::time::Day;

/// The lengths of the spans, in days. Each span ends today.
pub const SPAN_DAYS: [u32; 3] = [1, 7, 28];

/// A span of days; `first` and `last` are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DaySpan {
    pub first: Day,
    pub last: Day,
}

impl DaySpan {
    /// The `count` days that end with `today`.
    pub fn until(today: Day, count: u32) -> Self {
        Self { first: today.plus(1 - count.cast_signed()), last: today }
    }

    /// The number of its days.
    pub fn count_days(self) -> usize {
        usize::try_from(self.count()).unwrap_or_default()
    }

    fn count(self) -> i32 {
        self.last.days_since(self.first) + 1
    }

    /// The part (0 to 1) of a bucket of these days that lies in `window`. The usage of a bucket counts as spread evenly
    /// over its days.
    pub fn part_in(self, window: Self) -> f64 {
        let (first, last) = (self.first.max(window.first), self.last.min(window.last));
        if last < first { 0.0 } else { f64::from(Self { first, last }.count()) / f64::from(self.count()) }
    }
}
