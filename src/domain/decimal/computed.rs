//! Computed numbers as decimal text.

use std::fmt::Write;

use super::{AMOUNT_DECIMALS, AMOUNT_UNIT};

/// A computed `f64` (factor, normalised usage) as plain decimal text, at most 12 places (FAIR_SHARE §2).
pub fn f64_text(value: f64) -> String {
    if let Some(units) = units_of(value).and_then(|units| u64::try_from(units).ok()) {
        return units_text(units);
    }
    let text = format!("{value:.12}");
    let trimmed = text.trim_end_matches('0').trim_end_matches('.');
    trimmed.to_owned()
}

/// [`f64_text`] of a number that may be below 0.
pub fn signed_text(value: f64) -> String {
    let text = f64_text(value.abs());
    if value < 0.0 && text != "0" { format!("-{text}") } else { text }
}

/// A count of `10^-12`, as `write_fixed` would write it in more time.
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
