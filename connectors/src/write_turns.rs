//! The times of single writes to a scheduler.

use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior, interval};

/// Ticks for at most `per_second` writes in one second.
pub fn write_turns(per_second: u32) -> Interval {
    // A reset knows no bound, and an interval has a length.
    let mut turns = interval((Duration::from_secs(1) / per_second.max(1)).max(Duration::from_nanos(1)));
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    turns
}
