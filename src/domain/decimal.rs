//! Exact fixed-point numbers (FAIR_SHARE §2): an [`Amount`] of a slot and a [`Usage`] in slot-seconds.
//!
//! An amount times microseconds is a usage without any rounding, and the sum of every usage a
//! cluster can produce fits, so accounting never rounds and never overflows.

pub mod written;

use std::fmt::{self, Write};
use std::ops::{Add, AddAssign};
use std::str::FromStr;

use ethnum::U256;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Digits after the point that an [`Amount`] keeps.
pub(crate) const AMOUNT_DECIMALS: u32 = 12;
/// Digits after the point that a [`Usage`] keeps: an amount's plus six for microseconds.
const USAGE_DECIMALS: u32 = AMOUNT_DECIMALS + 6;
const AMOUNT_UNIT: u128 = 10u128.pow(AMOUNT_DECIMALS);
const USAGE_UNIT: u128 = 10u128.pow(USAGE_DECIMALS);
/// The largest amount of one slot: 10^21, above any memory in bytes.
const AMOUNT_MAX: u128 = 10u128.pow(21) * AMOUNT_UNIT;
/// The longest text that can be a legal number; longer input is refused before it is read.
pub(super) const MAX_TEXT: usize = 64;
/// Why a text is not a legal decimal here.
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

/// Reads plain decimal notation as an integer count of `10^-decimals`.
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
    let mut value: u128 = 0;
    let padding = decimals as usize - fraction.len();
    for digit in whole.bytes().chain(fraction.bytes()).chain(std::iter::repeat_n(b'0', padding)) {
        value = value
            .checked_mul(10)
            .and_then(|v| v.checked_add(u128::from(digit - b'0')))
            .ok_or(DecimalError::TooLarge)?;
    }
    Ok(value)
}

/// Writes a count of `10^-decimals` without trailing zeros.
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

/// How much of a slot: `0` to `10^21` with at most 12 decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(u128);

impl Amount {
    pub const ZERO: Self = Self(0);
    pub const MAX: Self = Self(AMOUNT_MAX);

    /// The amount of so many `10^-12`, at most the largest amount.
    pub const fn from_units(units: u128) -> Self {
        Self(if units < AMOUNT_MAX { units } else { AMOUNT_MAX })
    }

    /// The amount of so many `10^-12`; `None` above the largest amount.
    pub const fn checked_from_units(units: u128) -> Option<Self> {
        if units <= AMOUNT_MAX { Some(Self(units)) } else { None }
    }

    /// The amount as a count of `10^-12`.
    pub const fn units(self) -> u128 {
        self.0
    }

    /// The nearest amount; what is not a number or below 0 is 0.
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

    /// Used for `micros` microseconds.
    pub fn for_micros(self, micros: u64) -> Usage {
        Usage(U256::from(self.0) * U256::from(micros))
    }

    pub fn to_f64(self) -> f64 {
        self.0 as f64 / AMOUNT_UNIT as f64
    }

    /// Exactly `self x count`; `None` above the largest amount.
    pub fn checked_mul(self, count: u64) -> Option<Self> {
        self.0.checked_mul(u128::from(count)).filter(|v| *v <= AMOUNT_MAX).map(Self)
    }

    /// Exactly `self + other`; `None` above the largest amount.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        Some(Self(self.0.checked_add(other.0)?)).filter(|sum| *sum <= Self::MAX)
    }

    /// Sums end at the largest amount, far above any cluster, where they can still be read back.
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

/// Slot amount x seconds ("resource-seconds"), exact to `10^-18`.
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

    /// `self x factor` for a factor in 0..=1, with what rounding to `10^-18` would lose.
    pub fn times(self, factor: f64) -> ScaledUsage {
        const MANTISSA_BITS: i32 = 52;
        if factor >= 1.0 {
            return ScaledUsage { whole: self, fraction: 0 };
        }
        if factor.is_nan() || factor <= 0.0 {
            return ScaledUsage::default();
        }
        let bits = factor.to_bits();
        let biased = i32::try_from(bits >> MANTISSA_BITS & 0x7ff).unwrap_or(0);
        let shift = u32::try_from(1023 + MANTISSA_BITS - biased).unwrap_or(0);
        // So small a part of any usage is nothing.
        if biased == 0 || shift > 255 {
            return ScaledUsage::default();
        }
        let mantissa = (bits & ((1 << MANTISSA_BITS) - 1)) | (1 << MANTISSA_BITS);
        let (high, low) = self.0.into_words();
        if high == 0 && low >> 127 == 0 && shift <= 128 {
            return scaled(low, mantissa, shift);
        }
        let product = self.0.saturating_mul(U256::from(mantissa));
        let rest = product - ((product >> shift) << shift);
        let fraction = if shift <= 128 { rest << (128 - shift) } else { rest >> (shift - 128) };
        ScaledUsage { whole: Self(product >> shift), fraction: fraction.as_u128() }
    }

    /// Appends the number in as few bytes as it has: how many follow, and whether they count whole amounts for
    /// microseconds, as nearly always.
    pub fn put_bytes(self, bytes: &mut Vec<u8>) {
        let (high, low) = self.0.into_words();
        let whole = if high == 0 { Some(low).filter(|low| low % AMOUNT_UNIT == 0) } else { None };
        let number = whole.map_or(self.0, |low| U256::from(low / AMOUNT_UNIT)).to_le_bytes();
        let count = number.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        bytes.push(u8::try_from(count).unwrap_or(0) | if whole.is_some() { WHOLE } else { 0 });
        bytes.extend_from_slice(&number[..count]);
    }

    /// Reads what [`Self::put_bytes`] has written, and takes it off.
    pub fn take_bytes(bytes: &mut &[u8]) -> Self {
        let Some((first, rest)) = bytes.split_first() else { return Self::ZERO };
        let (number, rest) = rest.split_at(usize::from(first & !WHOLE).min(rest.len()));
        *bytes = rest;
        if number.len() <= 16 {
            let mut low = [0; 16];
            low[..number.len()].copy_from_slice(number);
            let low = u128::from_le_bytes(low);
            return Self(U256::from(if first & WHOLE == 0 { low } else { low * AMOUNT_UNIT }));
        }
        let mut all = [0; 32];
        all[..number.len()].copy_from_slice(number);
        Self(U256::from_le_bytes(all))
    }

    /// The mean amount of a usage that was spread over `micros` microseconds, rounded half up to `10^-12`.
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

/// Marks numbers that are counted in `10^-6`.
const WHOLE: u8 = 0x80;

/// `value x mantissa / 2^shift` in 128 bits, for a value below 2^127, a mantissa below 2^53, and a shift of 52 to 128.
fn scaled(value: u128, mantissa: u64, shift: u32) -> ScaledUsage {
    let mantissa = u128::from(mantissa);
    let (high, low) = (value >> 64, value & u128::from(u64::MAX));
    let lowest = low * mantissa;
    // The product is `upper x 2^64 + lower`, of 117 and 64 bits.
    let (upper, lower) = (high * mantissa + (lowest >> 64), lowest & u128::from(u64::MAX));
    let (whole, rest) = if shift < 64 {
        (upper << (64 - shift) | lower >> shift, lower & ((1 << shift) - 1))
    } else {
        let above = shift - 64;
        (upper >> above, (upper & ((1 << above) - 1)) << 64 | lower)
    };
    let fraction = if shift == 128 { rest } else { rest << (128 - shift) };
    ScaledUsage { whole: Usage(U256::from(whole)), fraction }
}

/// A usage with the part of its last digit, so that a sum of scaled usages is rounded once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScaledUsage {
    whole: Usage,
    /// In `2^-128` of the last digit.
    fraction: u128,
}

impl ScaledUsage {
    /// Rounded half up to `10^-18`.
    pub fn rounded(self) -> Usage {
        Usage(self.whole.0.saturating_add(U256::from(self.fraction >> 127)))
    }
}

impl Add for ScaledUsage {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (fraction, carry) = self.fraction.overflowing_add(other.fraction);
        let whole = self.whole + other.whole;
        Self { whole: Usage(whole.0.saturating_add(U256::from(u128::from(carry)))), fraction }
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
        // Above 2^128 units: whole and fraction apart.
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
                $crate::domain::decimal::written::deserialize_decimal(deserializer)
            }
        }
    };
}
pub(crate) use text_serde;

text_serde!(Amount);
text_serde!(Usage);

/// A computed `f64` (factor, normalised usage) as plain decimal text, at most 12 places (FAIR_SHARE §2).
pub fn f64_text(value: f64) -> String {
    if let Some(units) = units_of(value).and_then(|units| u64::try_from(units).ok()) {
        return units_text(units);
    }
    let text = format!("{value:.12}");
    let trimmed = text.trim_end_matches('0').trim_end_matches('.');
    trimmed.to_owned()
}

/// A count of `10^-12`, as [`write_fixed`] would write it in more time.
fn units_text(units: u64) -> String {
    const UNIT: u64 = 10u64.pow(AMOUNT_DECIMALS);
    let (whole, mut fraction) = (units / UNIT, units % UNIT);
    let mut text = String::with_capacity(16);
    // Writing to a text cannot fail.
    let _ = write!(text, "{whole}");
    if fraction > 0 {
        let mut digits = [b'0'; AMOUNT_DECIMALS as usize];
        for digit in digits.iter_mut().rev() {
            *digit += u8::try_from(fraction % 10).unwrap_or(0);
            fraction /= 10;
        }
        text.push('.');
        text.extend(digits.iter().map(|digit| char::from(*digit)));
        text.truncate(text.trim_end_matches('0').len());
    }
    text
}

/// The value in `10^-12`, rounded half to even as the formatter of the language does, which is exact but slow. `None`: it is
/// not one of the everyday values from 0 up.
fn units_of(value: f64) -> Option<u128> {
    const MANTISSA_BITS: u32 = 52;
    const BIAS: u64 = 1023;
    let bits = value.to_bits();
    let biased = bits >> MANTISSA_BITS;
    // Also false for a sign.
    if biased >= BIAS + u64::from(MANTISSA_BITS) {
        return None;
    }
    let fraction = u128::from(bits & ((1 << MANTISSA_BITS) - 1));
    let mantissa = if biased == 0 { fraction } else { fraction | 1 << MANTISSA_BITS };
    let shift = BIAS + u64::from(MANTISSA_BITS) - biased.max(1);
    if shift >= 128 {
        return Some(0);
    }
    let product = mantissa * AMOUNT_UNIT;
    let (whole, rest, half) = (product >> shift, product & ((1 << shift) - 1), 1u128 << (shift - 1));
    Some(whole + u128::from(rest > half || (rest == half && whole % 2 == 1)))
}

#[cfg(test)]
mod tests {
    use ethnum::U256;

    use super::{Amount, Usage, f64_text};

    #[test]
    fn computed_numbers_are_written_as_the_language_formats_them() {
        let slowly = |value: f64| {
            let text = format!("{value:.12}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        // Odd multiples of 2^-13 lie half-way between two numbers with 12 places.
        let ties = (0..5_000u32).map(|n| f64::from(n) / 8_192.0);
        let factors = (0..5_000u32).map(|n| (-f64::from(n) / 977.0).exp2());
        let powers = (-1_074..1_024).map(|power| 2f64.powi(power)).flat_map(|power| [power, power * 1.7]);
        let others = [0.0, 1.0, 1.0 - f64::EPSILON / 2.0, 0.000_000_000_000_5, 4_503_599_627_370_495.5, f64::MAX];
        for value in ties.chain(factors).chain(powers).chain(others) {
            assert_eq!(f64_text(value), slowly(value), "{value:e}");
        }
    }

    #[test]
    fn small_numbers_are_scaled_as_large_ones_are() {
        // The sum is too large for the fast way, and scaling is exact.
        let large = Usage(U256::ONE << 140);
        let numbers = (0..127).map(|bits| (1u128 << bits) + (1 << (bits / 2)) - 1).chain([(1 << 127) - 1]);
        let factors = (0..77).flat_map(|power| [0.5, 0.3, 0.999_999].map(|part| part * 0.5f64.powi(power)));
        for factor in factors {
            for number in numbers.clone() {
                let small = Usage(U256::from(number));
                assert_eq!(
                    (small + large).times(factor),
                    small.times(factor) + large.times(factor),
                    "{number} {factor}"
                );
            }
        }
    }

    #[test]
    fn multiplying_is_exact_or_refused() {
        let times = |text: &str, count| text.parse::<Amount>().ok()?.checked_mul(count).map(|a| a.to_string());
        assert_eq!(times("0.0977", 1 << 30).as_deref(), Some("104904576.2048"));
        assert_eq!(times("0.000000000001", 3).as_deref(), Some("0.000000000003"));
        assert_eq!(times("5", 0).as_deref(), Some("0"));
        assert_eq!(times("1", u64::MAX).as_deref(), Some("18446744073709551615"));
        assert_eq!(times("500000000000000000000", 2).as_deref(), Some("1000000000000000000000"));
        assert_eq!(times("500000000000000000000.000000000001", 2), None);
        assert_eq!(times("1000000000000000000000", u64::MAX), None);
    }
}
