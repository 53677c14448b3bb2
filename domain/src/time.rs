//! Instants in microseconds (UTC), days and spans. Both databases store microseconds, so times are truncated to them on
//! input.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, NaiveDate, NaiveDateTime, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub const MICROS_PER_SECOND: i64 = 1_000_000;
pub const SECONDS_PER_DAY: i64 = 86_400;
pub const MICROS_PER_DAY: i64 = SECONDS_PER_DAY * MICROS_PER_SECOND;
pub const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
pub const MICROS_PER_HOUR: i64 = 3_600 * MICROS_PER_SECOND;

/// An instant: microseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not an RFC 3339 time between the years 1970 and 9999, like 2026-01-13T10:00:00Z")]
pub struct TimeError;

impl Timestamp {
    /// 9999-12-31T23:59:59.999999Z.
    pub const MAX: Self = Self(253_402_300_799_999_999);
    pub const EPOCH: Self = Self(0);

    /// Clamped to the years 1970 to 9999, which both databases and RFC 3339 can represent.
    pub fn from_micros(micros: i64) -> Self {
        Self(micros.clamp(0, Self::MAX.0))
    }

    pub const fn micros(self) -> i64 {
        self.0
    }

    pub fn from_seconds(seconds: i64) -> Self {
        Self::from_micros(seconds.saturating_mul(MICROS_PER_SECOND))
    }

    pub fn day(self) -> Day {
        Day(i32::try_from(self.0.div_euclid(MICROS_PER_DAY)).unwrap_or(i32::MAX))
    }

    /// The day of a span that ends now: at midnight it is the day before.
    pub fn day_ending(self) -> Day {
        self.plus_micros(-1).day()
    }

    /// The first midnight that is not earlier than this instant: the end of the day of a span that ends now.
    #[must_use]
    pub fn midnight(self) -> Self {
        self.day_ending().plus(1).start()
    }

    #[must_use]
    pub fn plus_micros(self, micros: i64) -> Self {
        Self::from_micros(self.0.saturating_add(micros))
    }

    pub fn to_utc(self) -> DateTime<Utc> {
        DateTime::from_timestamp_micros(self.0).unwrap_or_default()
    }
}

impl From<DateTime<Utc>> for Timestamp {
    fn from(time: DateTime<Utc>) -> Self {
        Self::from_micros(time.timestamp_micros())
    }
}

impl FromStr for Timestamp {
    type Err = TimeError;
    /// Parses RFC 3339; a time without an offset is UTC.
    fn from_str(text: &str) -> Result<Self, TimeError> {
        let micros = match DateTime::parse_from_rfc3339(text) {
            Ok(time) => time.timestamp_micros(),
            Err(_) => text.parse::<NaiveDateTime>().map_err(|_| TimeError)?.and_utc().timestamp_micros(),
        };
        if (0..=Self::MAX.0).contains(&micros) { Ok(Self(micros)) } else { Err(TimeError) }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let format = if self.0 % MICROS_PER_SECOND == 0 { SecondsFormat::Secs } else { SecondsFormat::Micros };
        f.write_str(&self.to_utc().to_rfc3339_opts(format, true))
    }
}

/// A day in UTC, as days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub i32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a date between the years 1970 and 9999, like 2026-01-13")]
pub struct DayError;

impl Day {
    pub const MIN: Self = Self(0);
    /// 9999-12-31.
    pub const MAX: Self = Self(2_932_896);

    pub fn start(self) -> Timestamp {
        Timestamp::from_micros(i64::from(self.0).saturating_mul(MICROS_PER_DAY))
    }

    #[must_use]
    pub fn plus(self, days: i32) -> Self {
        Self(self.0.saturating_add(days))
    }

    /// The day `days` earlier, at least [`Day::MIN`].
    #[must_use]
    pub fn back(self, days: u32) -> Self {
        Self(self.0.saturating_sub_unsigned(days)).max(Self::MIN)
    }

    pub fn days_since(self, earlier: Self) -> i32 {
        self.0.saturating_sub(earlier.0)
    }

    pub fn to_date(self) -> NaiveDate {
        self.start().to_utc().date_naive()
    }
}

impl From<NaiveDate> for Day {
    fn from(date: NaiveDate) -> Self {
        Timestamp::from_micros(date.and_time(chrono::NaiveTime::MIN).and_utc().timestamp_micros()).day()
    }
}

impl FromStr for Day {
    type Err = DayError;
    fn from_str(text: &str) -> Result<Self, DayError> {
        let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").map_err(|_| DayError)?;
        let days = date.signed_duration_since(NaiveDate::default()).num_days();
        match i32::try_from(days) {
            // Accepts only the printed form. Chrono alone would also accept spaces, signs and single digits.
            Ok(d) if (0..=Self::MAX.0).contains(&d) && Self(d).to_string() == text => Ok(Self(d)),
            _ => Err(DayError),
        }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_date().format("%Y-%m-%d"))
    }
}

macro_rules! text_form {
    ($type:ty) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
                text.parse().map_err(de::Error::custom)
            }
        }
    };
}
text_form!(Timestamp);
text_form!(Day);

/// A half-open interval of time, never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSpan {
    pub start: Timestamp,
    pub end: Timestamp,
}

impl TimeSpan {
    /// `None` if the end is not after the start.
    pub fn new(start: Timestamp, end: Timestamp) -> Option<Self> {
        (end > start).then_some(Self { start, end })
    }

    pub fn micros(self) -> u64 {
        (self.end.0 - self.start.0).unsigned_abs()
    }

    pub fn overlap(self, other: Self) -> Option<Self> {
        Self::new(self.start.max(other.start), self.end.min(other.end))
    }

    /// The parts of this span outside of `holes` (ascending, disjoint).
    pub fn without(self, holes: &[Self]) -> Vec<Self> {
        let mut parts = Vec::with_capacity(1);
        let mut from = self.start;
        for hole in holes {
            parts.extend(Self::new(from, hole.start.min(self.end)));
            from = from.max(hole.end);
        }
        parts.extend(Self::new(from, self.end));
        parts
    }

    /// The span cut at each midnight UTC, so that each part is in exactly one day (FAIR_SHARE §3).
    pub fn by_day(self) -> impl Iterator<Item = Self> {
        let mut from = self.start;
        std::iter::from_fn(move || {
            let end = self.end.min(from.day().plus(1).start());
            let part = Self::new(from, end)?;
            from = end;
            Some(part)
        })
    }
}
