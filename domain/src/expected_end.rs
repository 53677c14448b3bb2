//! The expected ends of work, for cycles and for replays.

use super::time::{MICROS_PER_SECOND, Timestamp};

/// The end of work that starts at `start` and takes this number of seconds.
pub fn end_after(start: Timestamp, seconds: i64) -> Timestamp {
    start.plus_micros(seconds.saturating_mul(MICROS_PER_SECOND))
}

/// The expected end of work that runs at `now`. Work that has outlived it ends a second from now, because it still runs.
pub fn end_of_running(start: Timestamp, seconds: i64, now: Timestamp) -> Timestamp {
    let end = end_after(start, seconds);
    if end <= now { end_after(now, 1) } else { end }
}
