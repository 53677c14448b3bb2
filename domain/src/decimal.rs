//! Exact fixed-point numbers (FAIR_SHARE §2): an [`Amount`] of a slot and a [`Usage`] in slot-seconds.
//!
//! An amount times microseconds is a usage without any rounding, and the sum of every usage a
//! cluster can produce fits, so accounting never rounds and never overflows.

mod computed;
mod exact_json;
mod least;
mod proportion;
mod quotient;
mod scaled;
pub mod written;

use std::fmt;
use std::ops::{Add, AddAssign};
use std::str::FromStr;

use ethnum::U256;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use computed::{ComputedNumber, f64_text, signed_text};
pub use exact_json::with_exact_numbers;
pub use proportion::ExactFactor;
pub use scaled::ScaledUsage;

/// The number of decimals of an [`Amount`].
pub(crate) const AMOUNT_DECIMALS: u32 = 12;
/// The number of decimals of a [`Usage`]: those of an amount, and six for microseconds.
const USAGE_DECIMALS: u32 = AMOUNT_DECIMALS + 6;
const AMOUNT_UNIT: u128 = 10u128.pow(AMOUNT_DECIMALS);
const USAGE_UNIT: u128 = 10u128.pow(USAGE_DECIMALS);
/// The largest amount of one slot: 10^21, above any memory in bytes.
const AMOUNT_MAX: u128 = 10u128.pow(21) * AMOUNT_UNIT;
/// The longest text of a legal number. Longer input is refused without being parsed.
pub(super) const MAX_TEXT: usize = 64;
/// The reason why a text is not a legal decimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecimalError {
    #[error("is not a decimal number")]
    NotADecimal,
    #[error("must not be negative")]
    Negative,
    #[error("must be above 0")]
    Zero,
    #[error("has more than {0} decimals")]
    TooManyDecimals(u32),
    #[error("is too large")]
    TooLarge,
}

/// Parses plain decimal notation as a number of units of `10^-decimals`.
pub(crate) fn parse_fixed(text: &str, decimals: u32) -> Result<u128, DecimalError> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if digits.len() > MAX_TEXT {
        let long = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        return Err(match digits.split_once('.') {
            None if long(digits) => DecimalError::TooLarge,
            Some((whole, fraction)) if long(whole) && long(fraction) => DecimalError::TooLarge,
            _ => DecimalError::NotADecimal,
        });
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let has_point = whole.len() != digits.len();
    if whole.is_empty() || (has_point && fraction.is_empty()) || !all_digits(whole) || !all_digits(fraction) {
        return Err(DecimalError::NotADecimal);
    }
    if negative && digits.bytes().any(|b| !matches!(b, b'0' | b'.')) {
        return Err(DecimalError::Negative);
    }
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > decimals as usize {
        return Err(DecimalError::TooManyDecimals(decimals));
    }
    let padding = decimals as usize - fraction.len();
    [(whole, 0), (fraction, padding)].into_iter().try_fold(0, with_digits).ok_or(DecimalError::TooLarge)
}

/// The number of digits that always fit into a `u64`.
const DIGITS_AT_ONCE: usize = 19;

/// Appends digits and then zeros to a number. Digits are converted in machine words, and most amounts fit into a few of
/// them.
fn with_digits(number: u128, (digits, zeros): (&str, usize)) -> Option<u128> {
    let shifted = |number: u128, places: usize| number.checked_mul(10u128.checked_pow(u32::try_from(places).ok()?)?);
    let number = digits.as_bytes().chunks(DIGITS_AT_ONCE).try_fold(number, |number, part| {
        let value = part.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
        shifted(number, part.len())?.checked_add(value.into())
    })?;
    shifted(number, zeros)
}

/// Writes a number of units of `10^-decimals` without trailing zeros.
pub(crate) fn write_fixed(f: &mut fmt::Formatter<'_>, value: u128, decimals: u32) -> fmt::Result {
    let unit = 10u128.pow(decimals);
    write_parts(f, &(value / unit), value % unit, decimals)
}

fn write_parts(f: &mut fmt::Formatter<'_>, whole: &dyn fmt::Display, fraction: u128, decimals: u32) -> fmt::Result {
    if fraction == 0 {
        return write!(f, "{whole}");
    }
    let (mut fraction, mut width) = (fraction, decimals as usize);
    while fraction % 10 == 0 {
        fraction /= 10;
        width -= 1;
    }
    write!(f, "{whole}.{fraction:0width$}")
}

/// An amount of a slot: `0` to `10^21` with at most 12 decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(u128);

impl Amount {
    pub const ZERO: Self = Self(0);
    pub const ONE: Self = Self(AMOUNT_UNIT);
    pub const MAX: Self = Self(AMOUNT_MAX);

    /// The amount of that many units of 10^-12, at most the largest amount.
    pub const fn from_units(units: u128) -> Self {
        Self(if units < AMOUNT_MAX { units } else { AMOUNT_MAX })
    }

    /// The amount of that many units of 10^-12; `None` if it is above the largest amount.
    pub const fn checked_from_units(units: u128) -> Option<Self> {
        if units <= AMOUNT_MAX { Some(Self(units)) } else { None }
    }

    /// The number of units of 10^-12.
    pub const fn units(self) -> u128 {
        self.0
    }

    /// The nearest amount; 0 for NaN and for negative values.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a float to an integer saturates
    pub fn from_f64(value: f64) -> Self {
        let whole = value.trunc();
        let fraction = ((value - whole) * AMOUNT_UNIT as f64).round();
        Self::from_units((whole as u128).saturating_mul(AMOUNT_UNIT).saturating_add(fraction as u128))
    }

    /// The amount nearest to the first `digits` significant digits of the value.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a float to an integer saturates
    pub fn from_f64_digits(value: f64, digits: i32) -> Self {
        if value <= 0.0 {
            return Self::ZERO;
        }
        let decimals = AMOUNT_DECIMALS.cast_signed();
        let places = (digits - 1 - value.log10().floor() as i32).min(decimals);
        let rounded = (value * 10f64.powi(places)).round() as u128;
        Self::from_units(rounded.saturating_mul(10u128.saturating_pow((decimals - places).unsigned_abs())))
    }

    /// The amount of `count` whole units.
    pub const fn whole(count: u64) -> Self {
        Self(count as u128 * AMOUNT_UNIT)
    }

    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The usage of this amount held for `micros` microseconds.
    pub fn for_micros(self, micros: u64) -> Usage {
        Usage(U256::from(self.0) * U256::from(micros))
    }

    pub fn to_f64(self) -> f64 {
        self.0 as f64 / AMOUNT_UNIT as f64
    }

    /// Exactly `self x count`; `None` if it is above the largest amount.
    pub fn checked_mul(self, count: u64) -> Option<Self> {
        self.0.checked_mul(u128::from(count)).filter(|v| *v <= AMOUNT_MAX).map(Self)
    }

    /// Exactly `self + other`; `None` if it is above the largest amount.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        Some(Self(self.0.checked_add(other.0)?)).filter(|sum| *sum <= Self::MAX)
    }

    /// The sum, at most the largest amount. That is far above any cluster, and unlike a larger number it can be parsed
    /// again.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0).min(AMOUNT_MAX))
    }
}

impl Amount {
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl FromStr for Amount {
    type Err = DecimalError;
    fn from_str(text: &str) -> Result<Self, DecimalError> {
        let value = parse_fixed(text, AMOUNT_DECIMALS)?;
        if value > AMOUNT_MAX {
            return Err(DecimalError::TooLarge);
        }
        Ok(Self(value))
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_fixed(f, self.0, AMOUNT_DECIMALS)
    }
}

/// Slot amount x seconds ("slot-seconds"), in units of 10^-18.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Usage(U256);

impl Usage {
    pub const ZERO: Self = Self(U256::ZERO);

    pub fn is_zero(self) -> bool {
        self.0 == U256::ZERO
    }

    pub fn to_f64(self) -> f64 {
        let (high, low) = self.0.into_words();
        if high == 0 {
            return low as f64 / USAGE_UNIT as f64;
        }
        (high as f64 * 2f64.powi(128) + low as f64) / USAGE_UNIT as f64
    }

    /// The mean amount of a usage over `micros` microseconds, rounded half up to 10^-12.
    pub fn mean_over(self, micros: u64) -> Amount {
        if micros == 0 {
            return Amount::ZERO;
        }
        let rounded = self.0.saturating_add(U256::from(micros / 2)) / U256::from(micros);
        Amount(u128::try_from(rounded).unwrap_or(AMOUNT_MAX).min(AMOUNT_MAX))
    }

    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Usage {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl std::iter::Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl FromStr for Usage {
    type Err = DecimalError;
    fn from_str(text: &str) -> Result<Self, DecimalError> {
        match parse_fixed(text, USAGE_DECIMALS) {
            Ok(value) => return Ok(Self(U256::from(value))),
            Err(DecimalError::TooLarge) if !text.starts_with('-') => {}
            Err(error) => return Err(error),
        }
        // The number has more than 2^128 units, so the integer part and the fraction are parsed separately.
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let whole = U256::from_str_radix(whole, 10).map_err(|_| DecimalError::TooLarge)?;
        let fraction = parse_fixed(&format!("0.{fraction}"), USAGE_DECIMALS)?;
        whole
            .checked_mul(U256::from(USAGE_UNIT))
            .and_then(|w| w.checked_add(U256::from(fraction)))
            .map(Self)
            .ok_or(DecimalError::TooLarge)
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (high, low) = self.0.into_words();
        if high == 0 {
            return write_fixed(f, low, USAGE_DECIMALS);
        }
        let unit = U256::from(USAGE_UNIT);
        write_parts(f, &(self.0 / unit), (self.0 % unit).as_u128(), USAGE_DECIMALS)
    }
}

macro_rules! text_serde {
    ($type:ty) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::decimal::written::deserialize_decimal(deserializer)
            }
        }
    };
}
pub(crate) use text_serde;

text_serde!(Amount);
text_serde!(Usage);
