//! Announced runtimes in reports and requests.

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// The longest announced runtime, in seconds: a year.
const MAX_SECONDS: u32 = 31_536_000;

/// Checks the range of an announced runtime. Returns the message if it is outside.
pub fn fault(seconds: u32) -> Option<&'static str> {
    (!(1..=MAX_SECONDS).contains(&seconds)).then_some("must be 1 to 31536000 seconds")
}

/// Reads a number of seconds, or nothing. The error of a value that is no such number names the range; [`fault`] checks
/// it.
pub fn optional_seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    Ok(Option::<Seconds>::deserialize(from)?.map(|seconds| seconds.0))
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
