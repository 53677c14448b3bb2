//! Times as schedulers print them: RFC 3339, seconds since 1970 as a number or a text of digits, or an object of Slurm's JSON with them.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use super::time::{MICROS_PER_SECOND, TimeError, Timestamp};

/// The first second of the year 2201. A larger number counts in a smaller unit.
pub const TOO_MANY_SECONDS: u64 = 7_289_654_400;
/// The decimals of a microsecond.
const MICROS_DECIMALS: usize = 6;

/// Reads a time, or nothing. The number 0 is no time, because Slurm prints it for something that has not happened yet.
pub fn optional_time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Timestamp>, D::Error> {
    Ok(Option::<WrittenTime>::deserialize(from)?.and_then(|written| written.0))
}

/// A time as a request writes it; `None` for 0 seconds.
struct WrittenTime(Option<Timestamp>);

/// A number in the JSON of Slurm 23.02 and later, from `squeue --json` and slurmrestd. Slurm prints all three keys, and `number` is a
/// placeholder if it is not set or infinite.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SlurmNumber {
    set: bool,
    infinite: bool,
    number: u64,
}

/// The reason why a text is not a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum WrittenTimeError {
    #[error(transparent)]
    NotATime(#[from] TimeError),
    #[error("is above the year 2200 in seconds: it looks like milliseconds or a smaller unit; give seconds since 1970")]
    SmallerUnit,
}

/// The seconds and their decimals, if the text has digits and at most one point between them.
fn split_seconds(text: &str) -> Option<(&str, &str)> {
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    match text.split_once('.') {
        Some((seconds, decimals)) => (is_digits(seconds) && is_digits(decimals)).then_some((seconds, decimals)),
        None => is_digits(text).then_some((text, "")),
    }
}

impl WrittenTime {
    fn read(text: &str) -> Result<Self, WrittenTimeError> {
        let Some((seconds, decimals)) = split_seconds(text) else { return Ok(Self(Some(text.parse()?))) };
        let seconds = seconds.parse().unwrap_or(u64::MAX);
        let seconds = i64::try_from(seconds).ok().filter(|_| seconds < TOO_MANY_SECONDS);
        let seconds = seconds.ok_or(WrittenTimeError::SmallerUnit)?;
        let decimals = decimals.bytes().chain(std::iter::repeat(b'0')).take(MICROS_DECIMALS);
        let micros = decimals.fold(0, |micros, digit| micros * 10 + i64::from(digit - b'0'));
        let micros = seconds * MICROS_PER_SECOND + micros;
        Ok(Self((micros > 0).then(|| Timestamp::from_micros(micros))))
    }
}

impl<'de> Deserialize<'de> for WrittenTime {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TimeVisitor)
    }
}

struct TimeVisitor;

impl<'de> Visitor<'de> for TimeVisitor {
    type Value = WrittenTime;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an RFC 3339 time, or a number of seconds since 1970")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<WrittenTime, E> {
        WrittenTime::read(text).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, seconds: u64) -> Result<WrittenTime, E> {
        self.visit_str(&seconds.to_string())
    }

    fn visit_i64<E: Error>(self, seconds: i64) -> Result<WrittenTime, E> {
        u64::try_from(seconds)
            .map_err(|_| E::invalid_value(Unexpected::Signed(seconds), &self))
            .and_then(|seconds| self.visit_u64(seconds))
    }

    /// The shortest text of a float has the digits that the request has.
    fn visit_f64<E: Error>(self, seconds: f64) -> Result<WrittenTime, E> {
        if seconds < 0.0 {
            return Err(E::invalid_value(Unexpected::Float(seconds), &self));
        }
        self.visit_str(&seconds.abs().to_string())
    }
    /// A time that is not set, or never comes, is none.
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WrittenTime, A::Error> {
        let SlurmNumber { set, infinite, number } = SlurmNumber::deserialize(MapAccessDeserializer::new(map))?;
        if set && !infinite { self.visit_u64(number) } else { Ok(WrittenTime(None)) }
    }
}
