//! What was used in the last days, as parts of a day's capacity. It is kept beside decayed usage for the lengths of time that
//! are asked for most.

use crate::domain::time::Day;

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

/// Usage over the [`LENGTHS`], in days of the whole group's capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Recent([f64; LENGTHS.len()]);

impl Recent {
    /// Adds a bucket. One that lies ahead, after a clock that jumped back, counts as today's.
    pub fn add(&mut self, bucket: Days, today: Day, normalized: f64) {
        let bucket = Days { first: bucket.first.min(today), last: bucket.last.min(today) };
        for (sum, count) in self.0.iter_mut().zip(LENGTHS) {
            *sum += normalized * bucket.part_in(Days::until(today, count));
        }
    }

    /// Of one of the [`LENGTHS`].
    pub fn over(&self, days: u32) -> Option<f64> {
        LENGTHS.iter().position(|length| *length == days).map(|at| self.0[at])
    }
}
