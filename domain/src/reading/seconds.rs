//! Announced runtimes in reports and requests.

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// The longest announced runtime, in seconds: a year.
pub const MAX_SECONDS: u32 = 31_536_000;

/// Checks the range of an announced runtime. Returns the message if it is outside.
pub fn fault(seconds: u32) -> Option<&'static str> {
    (!(1..=MAX_SECONDS).contains(&seconds)).then_some("must be 1 to 31536000 seconds")
}

/// Reads a number of seconds, or nothing. The error of a value that is no such number names the range; [`fault`] checks
/// it.
pub fn optional_seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    Ok(Option::<Seconds>::deserialize(from)?.map(|seconds| seconds.0))
}

/// Reads a number of seconds of any size, or nothing. A number that does not fit is the largest one that does.
pub fn optional_seconds_of_any_size<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    Ok(Option::<UnlimitedSeconds>::deserialize(from)?.map(|seconds| seconds.0))
}

/// A number of seconds, or [`MAX_SECONDS`] if that is less.
pub fn shorten(seconds: u64) -> u32 {
    u32::try_from(seconds).map_or(MAX_SECONDS, |seconds| seconds.min(MAX_SECONDS))
}

struct Seconds(u32);

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_u32(InRange)
    }
}

struct InRange;

impl Visitor<'_> for InRange {
    type Value = Seconds;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from 1 to {MAX_SECONDS}")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Seconds, E> {
        u32::try_from(value).map(Seconds).map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &self))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Seconds, E> {
        u32::try_from(value).map(Seconds).map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))
    }
}

struct UnlimitedSeconds(u64);

impl<'de> Deserialize<'de> for UnlimitedSeconds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_u64(OfAnySize)
    }
}

struct OfAnySize;

impl Visitor<'_> for OfAnySize {
    type Value = UnlimitedSeconds;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number of seconds, 1 or more")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<UnlimitedSeconds, E> {
        Ok(UnlimitedSeconds(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<UnlimitedSeconds, E> {
        u64::try_from(value).map(UnlimitedSeconds).map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))
    }

    /// JSON numbers that do not fit into 64 bits come as floats.
    fn visit_f64<E: Error>(self, value: f64) -> Result<UnlimitedSeconds, E> {
        if value >= u64::MAX as f64 {
            return Ok(UnlimitedSeconds(u64::MAX));
        }
        Err(E::invalid_type(Unexpected::Float(value), &self))
    }
}
