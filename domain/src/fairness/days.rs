//! Spans of whole days that usage is compared over.

use crate::time::Day;

/// The lengths, in days. The last of them is today.
pub const LENGTHS: [u32; 3] = [1, 7, 28];

/// A first and a last day, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Days {
    pub first: Day,
    pub last: Day,
}

impl Days {
    /// So many days until `today`.
    pub fn until(today: Day, count: u32) -> Self {
        Self { first: today.plus(1 - count.cast_signed()), last: today }
    }

    fn count(self) -> i32 {
        self.last.days_since(self.first) + 1
    }

    /// Which part of a bucket of these days lies in `window`: of one that spans several days, that of its days.
    pub fn part_in(self, window: Self) -> f64 {
        let (first, last) = (self.first.max(window.first), self.last.min(window.last));
        if last < first { 0.0 } else { f64::from(Self { first, last }.count()) / f64::from(self.count()) }
    }
}
