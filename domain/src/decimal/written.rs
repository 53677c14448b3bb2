//! Decimals in JSON: texts, and numbers that are read from their digits.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::{Deserializer, de};

use super::{AMOUNT_DECIMALS, DecimalError, write_fixed};

/// The largest number of digits before the point in a JSON number; no amount has as many.
const MAX_WHOLE_DIGITS: i64 = 25;
/// The name by which `serde_json` passes on a value as it is written; otherwise a number arrives as a float. The name
/// is internal to `serde_json`, so a test checks that the digits of a number survive.
const AS_WRITTEN: &str = "$serde_json::private::RawValue";

/// A JSON number in plain notation, rounded half up to the places of an amount. Programs send floats, whose last digits
/// mean nothing.
pub(super) fn plain_number(number: &str) -> Result<Cow<'_, str>, DecimalError> {
    let is_plain = !number.contains(['e', 'E'])
        && number.split_once('.').is_none_or(|(_, fraction)| fraction.len() <= AMOUNT_DECIMALS as usize);
    if is_plain {
        return Ok(Cow::Borrowed(number));
    }
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = whole.trim_start_matches('-').bytes().chain(fraction.bytes());
    let first = digits.clone().position(|digit| digit != b'0');
    let Some(leading) = first else { return Ok(Cow::Borrowed("0")) };
    if whole.starts_with('-') {
        return Err(DecimalError::Negative);
    }
    // An exponent that does not fit into 32 bits makes the number far too large or 0.
    let beyond = if exponent.starts_with('-') { i64::from(i32::MIN) } else { i64::from(i32::MAX) };
    let exponent = exponent.parse::<i32>().map_or(beyond, i64::from);
    let count = |digits: usize| i64::try_from(digits).unwrap_or(i64::MAX);
    let before_point = count(whole.len()) - count(leading) + exponent;
    if before_point > MAX_WHOLE_DIGITS {
        return Err(DecimalError::TooLarge);
    }
    let Ok(kept) = usize::try_from(before_point + i64::from(AMOUNT_DECIMALS)) else { return Ok(Cow::Borrowed("0")) };
    let mut digits = digits.skip(leading).chain(std::iter::repeat(b'0')).map(|digit| u128::from(digit - b'0'));
    let units = digits.by_ref().take(kept).fold(0, |units, digit| units * 10 + digit);
    let units = units + u128::from(digits.next().is_some_and(|digit| digit >= 5));
    Ok(Cow::Owned(PlainDecimal(units).to_string()))
}

/// A number of units of 10^-12, for display.
struct PlainDecimal(u128);

impl fmt::Display for PlainDecimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_fixed(f, self.0, AMOUNT_DECIMALS)
    }
}

/// The reason why a JSON value is not a decimal.
enum NoDecimal {
    /// The value is neither a text nor a number.
    OtherKind,
    Refused(DecimalError),
}

impl From<DecimalError> for NoDecimal {
    fn from(error: DecimalError) -> Self {
        Self::Refused(error)
    }
}

/// Reads a decimal from the JSON text of a value.
fn read_written<T: FromStr<Err = DecimalError>>(json: &str) -> Result<T, NoDecimal> {
    match json.as_bytes() {
        [b'"', text @ .., b'"'] if !text.contains(&b'\\') => Ok(json[1..json.len() - 1].parse()?),
        [b'"', ..] => {
            let text: String = serde_json::from_str(json).map_err(|_| DecimalError::NotADecimal)?;
            Ok(text.parse()?)
        }
        [b'-' | b'0'..=b'9', ..] => Ok(plain_number(json)?.parse()?),
        _ => Err(NoDecimal::OtherKind),
    }
}

/// Accepts a decimal as a text or as a JSON number. A number is read from its digits, never through a float.
pub(crate) fn deserialize_decimal<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = DecimalError>,
{
    deserializer.deserialize_newtype_struct(AS_WRITTEN, WrittenDecimal(PhantomData))
}

struct WrittenDecimal<T>(PhantomData<T>);

impl<T: FromStr<Err = DecimalError>> WrittenDecimal<T> {
    fn number<E: de::Error>(text: &str) -> Result<T, E> {
        plain_number(text).and_then(|plain| plain.parse()).map_err(E::custom)
    }
}

impl<'de, T: FromStr<Err = DecimalError>> de::Visitor<'de> for WrittenDecimal<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a decimal number")
    }

    /// Formats other than JSON pass values directly.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut value: A) -> Result<T, A::Error> {
        let other_kind = || de::Error::invalid_type(de::Unexpected::Other("value"), &self);
        match value.next_key_seed(IsWritten)? {
            Some(true) => match value.next_value_seed(WrittenValue(PhantomData))? {
                Ok(decimal) => Ok(decimal),
                Err(NoDecimal::Refused(error)) => Err(de::Error::custom(error)),
                Err(NoDecimal::OtherKind) => Err(other_kind()),
            },
            _ => Err(other_kind()),
        }
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<T, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<T, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<T, E> {
        if value.is_finite() { Self::number(&value.to_string()) } else { Err(E::custom(DecimalError::NotADecimal)) }
    }
}

/// Reads the key of an object: true if the key is [`AS_WRITTEN`].
struct IsWritten;

impl<'de> de::DeserializeSeed<'de> for IsWritten {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl de::Visitor<'_> for IsWritten {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<bool, E> {
        Ok(key == AS_WRITTEN)
    }
}

/// Reads the value from its JSON text without a copy. A fault is reported by the caller, because the caller knows the
/// place.
struct WrittenValue<T>(PhantomData<T>);

impl<'de, T: FromStr<Err = DecimalError>> de::DeserializeSeed<'de> for WrittenValue<T> {
    type Value = Result<T, NoDecimal>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<T: FromStr<Err = DecimalError>> de::Visitor<'_> for WrittenValue<T> {
    type Value = Result<T, NoDecimal>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a decimal number")
    }

    fn visit_str<E: de::Error>(self, json: &str) -> Result<Self::Value, E> {
        Ok(read_written(json))
    }
}
