//! The usage of each bucket of an owner over one day of capacity, before decay. A snapshot of a group has it of every owner, so
//! that forecasts of the days to come decay it without reading a bucket.

use std::sync::Arc;

use super::fairness::DaySpan;
use super::ids::Owner;
use super::maps::FastMap;
use super::time::Day;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormalizedBucket {
    /// The first day with usage.
    pub first: Day,
    /// The last day with usage, inclusive.
    pub last: Day,
    /// In days of the group's whole capacity.
    pub normalized: f64,
}

/// The buckets of one owner, ascending by their first day.
pub type NormalizedDays = Arc<[NormalizedBucket]>;

/// The normalised days of every owner who has buckets.
pub type NormalizedDaysByOwner = FastMap<Owner, NormalizedDays>;

/// The usage within `window`, not decayed, in days of the whole capacity. What lies ahead, after a clock that jumped back, counts
/// as of the window's last day.
pub fn used_within(buckets: &[NormalizedBucket], window: DaySpan) -> f64 {
    let used = |bucket: &NormalizedBucket| {
        let NormalizedBucket { first, last, normalized } = *bucket;
        // Most buckets are of one day, which lies in the window as a whole.
        if first == last {
            return normalized;
        }
        let days = DaySpan { first: first.min(window.last), last: last.min(window.last) };
        normalized * days.part_in(window)
    };
    let begin = buckets.partition_point(|bucket| bucket.last < window.first);
    // Buckets ascend, so that the sum has one order.
    buckets[begin..].iter().map(used).sum()
}

/// The same buckets with more usage on one day, which the bucket takes that is open then, if there is one.
pub fn with_usage(buckets: &[NormalizedBucket], day: Day, unit_days: u32, normalized: f64) -> NormalizedDays {
    let next = buckets.partition_point(|bucket| bucket.first <= day);
    let mut buckets = buckets.to_vec();
    match buckets[..next].last_mut().filter(|open| day.days_since(open.first) < unit_days.cast_signed()) {
        Some(open) => {
            open.last = open.last.max(day);
            open.normalized += normalized;
        }
        None => buckets.insert(next, NormalizedBucket { first: day, last: day, normalized }),
    }
    buckets.into()
}
