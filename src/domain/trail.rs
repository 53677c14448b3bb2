//! What each bucket of an owner comes to before decay. A picture has it of everybody, so that the decay of the days to come can
//! be told without reading a bucket.

use std::sync::Arc;

use super::ids::Owner;
use super::shards::Shards;
use super::time::Day;

/// The usage of one bucket over one day of its capacity. A server has millions: two words would be aligned to eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    start: i32,
    normalized: [u32; 2],
}

/// The buckets of one owner, ascending by their first day.
pub type Trail = Arc<[Part]>;

/// Of everybody who has buckets.
pub type Trails = Shards<Owner, Trail>;

impl Part {
    pub fn new(start: Day, normalized: f64) -> Self {
        let bits = normalized.to_bits();
        #[expect(clippy::cast_possible_truncation, reason = "the two halves of the bits")]
        let halves = [(bits >> 32) as u32, bits as u32];
        Self { start: start.0, normalized: halves }
    }

    pub fn start(self) -> Day {
        Day(self.start)
    }

    pub fn normalized(self) -> f64 {
        let [high, low] = self.normalized.map(u64::from);
        f64::from_bits(high << 32 | low)
    }
}

/// The trail with more usage on one day, which the bucket takes that is open then, if there is one.
pub fn with(trail: &[Part], day: Day, unit_days: u32, normalized: f64) -> Trail {
    let next = trail.partition_point(|part| part.start() <= day);
    let mut parts = trail.to_vec();
    match next.checked_sub(1).filter(|at| day.days_since(parts[*at].start()) < unit_days.cast_signed()) {
        Some(at) => parts[at] = Part::new(parts[at].start(), parts[at].normalized() + normalized),
        None => parts.insert(next, Part::new(day, normalized)),
    }
    parts.into()
}
