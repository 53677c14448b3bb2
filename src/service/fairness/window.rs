//! The time that a report of fairness covers.

use std::str::FromStr;

use crate::domain::fairness::{DaySpan, SPAN_DAYS};
use crate::domain::time::{Day, MICROS_PER_HOUR, TimeSpan, Timestamp};
use crate::engine::day_history::recent_usage::span_of;
use crate::service::{Error, Result};

/// The longest period, in days.
const MAX_DAYS: i32 = 366;

/// The time that a report covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportWindow {
    /// The slots that are held now, in place of usage.
    Now,
    /// The last hour.
    Hour,
    /// That number of days up to today; one of [`SPAN_DAYS`].
    Last(u32),
    /// A period that is over or ends today.
    Between(DaySpan),
}

impl ReportWindow {
    /// The names of the windows that end now, from short to long.
    pub fn names() -> Vec<String> {
        let days = SPAN_DAYS.into_iter().map(|length| format!("{length}d"));
        ["now", "1h"].map(str::to_owned).into_iter().chain(days).collect()
    }

    /// Parses `now`, `1h`, `1d`, `7d`, `28d`, or a first and a last day such as `2026-01-01..2026-01-31`.
    pub fn read(text: &str) -> Result<Self> {
        let fault = || {
            let names = Self::names().join(", ");
            let said = format!("is none of {names}, and no period like 2026-01-01..2026-01-31");
            Error::about("/window", "invalid_value", said)
        };
        match text {
            "now" => return Ok(Self::Now),
            "1h" => return Ok(Self::Hour),
            _ => {}
        }
        if let Some(length) = SPAN_DAYS.into_iter().find(|length| format!("{length}d") == text) {
            return Ok(Self::Last(length));
        }
        let (first, last) = text.split_once("..").ok_or_else(fault)?;
        let day = |text: &str| Day::from_str(text).map_err(|_| fault());
        let days = DaySpan { first: day(first)?, last: day(last)? };
        if days.last < days.first {
            return Err(Error::about("/window", "contradiction", "ends before it begins"));
        }
        Ok(Self::Between(days))
    }

    /// Refuses days in the future, and days of which nothing is kept any more.
    pub fn check(self, today: Day, keep_days: u32) -> Result<()> {
        let Self::Between(DaySpan { first, last }) = self else { return Ok(()) };
        let fault = |said: String| Err(Error::about("/window", "out_of_range", said));
        if last > today {
            return fault(format!("ends after today, {today}"));
        }
        if first < today.back(keep_days.saturating_sub(1)) {
            return fault(format!(
                "begins earlier than usage is kept, which is {keep_days} days (`keep_buckets_days`)"
            ));
        }
        if last.days_since(first) >= MAX_DAYS {
            return fault(format!("is longer than {MAX_DAYS} days"));
        }
        Ok(())
    }

    /// The whole days of the window; `None` for the last hour and for now.
    pub fn days(self, today: Day) -> Option<DaySpan> {
        match self {
            Self::Now | Self::Hour => None,
            Self::Last(count) => Some(DaySpan::until(today, count)),
            Self::Between(days) => Some(days),
        }
    }

    /// The span of the window up to now.
    pub fn span(self, now: Timestamp) -> TimeSpan {
        match self.days(now.day()) {
            None if self == Self::Now => TimeSpan { start: now, end: now },
            None => TimeSpan { start: now.plus_micros(-MICROS_PER_HOUR), end: now },
            Some(days) => span_of(days, now),
        }
    }
}
