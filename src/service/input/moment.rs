//! Moments in requests: instants, or days, of which the last one is included.

use crate::domain::time::{Day, Timestamp};
use crate::engine::error::{Error, Result};

/// The beginning of a period.
pub fn parse_beginning(pointer: &str, text: &str) -> Result<Timestamp> {
    parse_instant(pointer, text, 0)
}

/// The end of a period; a day is included.
pub fn end(pointer: &str, text: &str) -> Result<Timestamp> {
    parse_instant(pointer, text, 1)
}

fn parse_instant(pointer: &str, text: &str, past: i32) -> Result<Timestamp> {
    let day = text.parse::<Day>().map(|day| day.plus(past).start()).ok();
    day.or_else(|| text.parse::<Timestamp>().ok()).ok_or_else(|| {
        let said = "is neither a time like 2026-01-13T10:00:00Z nor a day like 2026-01-13";
        Error::about(pointer, "invalid_value", said)
    })
}
