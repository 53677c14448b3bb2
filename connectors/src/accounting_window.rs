//! The time from which a connector reads the accounting of its scheduler.

use domain::time::{MICROS_PER_DAY, MICROS_PER_MINUTE, Timestamp};

/// Each reading goes back this far behind the one before, because an accounting learns of a run some seconds late.
pub const OVERLAP_MICROS: i64 = 5 * MICROS_PER_MINUTE;

/// The beginning of the first reading of a connector, a day before `now`. An import brings what was before.
pub fn first_reading(now: Timestamp) -> Timestamp {
    now.plus_micros(-MICROS_PER_DAY)
}
