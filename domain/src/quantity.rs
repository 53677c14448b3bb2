//! Amounts as Kubernetes writes them: `500m`, `64Gi`, `1e3`. Read exactly, never through a float.

use std::str::FromStr;

use ethnum::U256;
use serde::{Deserialize, Deserializer};

use super::decimal::written::deserialize_decimal;
use super::decimal::{AMOUNT_DECIMALS, Amount, DecimalError, MAX_TEXT};
use super::slots::SlotValue;

/// Suffixes and their powers of two.
const BINARY_SUFFIXES: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
/// Suffixes and their powers of ten.
const DECIMAL_SUFFIXES: [(&str, i32); 10] =
    [("", 0), ("n", -9), ("u", -6), ("m", -3), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
/// With a larger exponent every amount except 0 is too large or too small.
const MAX_EXPONENT: i32 = 99;

/// Parses a plain decimal, or a number with a suffix of Kubernetes.
pub fn parse(text: &str) -> Result<Amount, DecimalError> {
    if text.len() > MAX_TEXT {
        // The parser of plain decimals returns the right error.
        return text.parse();
    }
    let (negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let end = unsigned.bytes().position(|b| !b.is_ascii_digit() && b != b'.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() + fraction.len() == 0 || fraction.contains('.') {
        return Err(DecimalError::NotADecimal);
    }
    let (doublings, exponent) = scale(suffix)?;
    let fraction = fraction.trim_end_matches('0');
    let digits = ["0", whole, fraction].concat();
    let value = U256::from_str_radix(&digits, 10).map_err(|_| DecimalError::TooLarge)?;
    if value == U256::ZERO {
        return Ok(Amount::ZERO);
    }
    if negative {
        return Err(DecimalError::Negative);
    }
    let value = value.checked_mul(U256::ONE << doublings).ok_or(DecimalError::TooLarge)?;
    let places = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
    in_units(value, exponent + AMOUNT_DECIMALS.cast_signed() - places)
}

/// `value x 10^exponent` as an amount.
fn in_units(value: U256, exponent: i32) -> Result<Amount, DecimalError> {
    let power = U256::new(10).checked_pow(exponent.unsigned_abs());
    let units = if exponent >= 0 {
        power.and_then(|power| value.checked_mul(power)).ok_or(DecimalError::TooLarge)?
    } else {
        let too_fine = DecimalError::TooManyDecimals(AMOUNT_DECIMALS);
        power.filter(|power| value % *power == U256::ZERO).map(|power| value / power).ok_or(too_fine)?
    };
    let units = u128::try_from(units).map_err(|_| DecimalError::TooLarge)?;
    Amount::checked_from_units(units).ok_or(DecimalError::TooLarge)
}

/// The exponents of a suffix: the power of two, and the power of ten.
fn scale(suffix: &str) -> Result<(u32, i32), DecimalError> {
    if let Some((_, doublings)) = BINARY_SUFFIXES.iter().find(|(name, _)| *name == suffix) {
        return Ok((*doublings, 0));
    }
    if let Some((_, exponent)) = DECIMAL_SUFFIXES.iter().find(|(name, _)| *name == suffix) {
        return Ok((0, *exponent));
    }
    let exponent = suffix.strip_prefix(['e', 'E']).ok_or(DecimalError::NotADecimal)?;
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(DecimalError::NotADecimal);
    }
    let size = digits.parse().unwrap_or(MAX_EXPONENT).min(MAX_EXPONENT);
    Ok((0, if exponent.starts_with('-') { -size } else { size }))
}

/// A value that requests may write as a quantity.
#[derive(Clone, Copy)]
pub struct Quantity<V>(pub(crate) V);

impl FromStr for Quantity<Amount> {
    type Err = DecimalError;
    fn from_str(text: &str) -> Result<Self, DecimalError> {
        parse(text).map(Self)
    }
}

impl<'de, V> Deserialize<'de> for Quantity<V>
where
    Self: FromStr<Err = DecimalError>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_decimal(deserializer)
    }
}

impl From<Quantity<Self>> for Amount {
    fn from(Quantity(amount): Quantity<Self>) -> Self {
        amount
    }
}

impl SlotValue for Amount {
    type Written = Quantity<Self>;
}
