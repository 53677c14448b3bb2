//! What each bucket of an owner comes to before decay. A picture has it of everybody, so that the decay of the days to come can
//! be told without reading a bucket.

use std::sync::Arc;

use super::fairness::Days;
use super::ids::Owner;
use super::maps::FastMap;
use super::time::Day;

/// The usage of one bucket over one day of its capacity. A server has millions: as bytes, numbers need no alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    start: [u8; 4],
    /// From the first to the last day with usage.
    days: u16,
    normalized: [u8; 8],
}

/// The buckets of one owner, ascending by their first day.
pub type Trail = Arc<[Part]>;

/// Of everybody who has buckets.
pub type Trails = FastMap<Owner, Trail>;

impl Part {
    pub fn new(days: Days, normalized: f64) -> Self {
        let count = days.last.days_since(days.first).unsigned_abs();
        Self {
            start: days.first.0.to_ne_bytes(),
            days: u16::try_from(count).unwrap_or(u16::MAX),
            normalized: normalized.to_ne_bytes(),
        }
    }

    pub fn start(self) -> Day {
        Day(i32::from_ne_bytes(self.start))
    }

    /// The first and the last day with usage.
    pub fn days(self) -> Days {
        let first = self.start();
        Days { first, last: first.plus(self.days.into()) }
    }

    pub fn normalized(self) -> f64 {
        f64::from_ne_bytes(self.normalized)
    }
}

/// What was used in `window`, not decayed, in days of the whole capacity. What lies ahead, after a clock that jumped back, counts
/// as of its last day.
pub fn used_within(trail: &[Part], window: Days) -> f64 {
    let used = |part: &Part| {
        let Days { first, last } = part.days();
        // Most buckets are of one day, which lies in the window as a whole.
        if first == last {
            return part.normalized();
        }
        let days = Days { first: first.min(window.last), last: last.min(window.last) };
        part.normalized() * days.part_in(window)
    };
    let begin = trail.partition_point(|part| part.days().last < window.first);
    // Buckets ascend, so that the sum has one order.
    trail[begin..].iter().map(used).sum()
}

/// The trail with more usage on one day, which the bucket takes that is open then, if there is one.
pub fn with(trail: &[Part], day: Day, unit_days: u32, normalized: f64) -> Trail {
    let next = trail.partition_point(|part| part.start() <= day);
    let mut parts = trail.to_vec();
    match next.checked_sub(1).filter(|at| day.days_since(parts[*at].start()) < unit_days.cast_signed()) {
        Some(at) => {
            let Days { first, last } = parts[at].days();
            parts[at] = Part::new(Days { first, last: last.max(day) }, parts[at].normalized() + normalized);
        }
        None => parts.insert(next, Part::new(Days { first: day, last: day }, normalized)),
    }
    parts.into()
}
