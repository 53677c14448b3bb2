//! Computed numbers as decimal text.

use super::{AMOUNT_DECIMALS, AMOUNT_UNIT};

/// A computed `f64` (factor, normalised usage) as plain decimal text, at most 12 places (FAIR_SHARE §2).
pub fn f64_text(value: f64) -> String {
    let mut text = Vec::with_capacity(16);
    push_f64(&mut text, value);
    // Digits and points are UTF-8.
    String::from_utf8(text).unwrap_or_default()
}

/// Appends [`f64_text`].
pub fn push_f64(out: &mut Vec<u8>, value: f64) {
    if let Some(units) = units_of(value).and_then(|units| u64::try_from(units).ok()) {
        return push_units(out, units);
    }
    let text = format!("{value:.12}");
    out.extend_from_slice(text.trim_end_matches('0').trim_end_matches('.').as_bytes());
}

/// [`f64_text`] of a number that may be below 0.
pub fn signed_text(value: f64) -> String {
    let text = f64_text(value.abs());
    if value < 0.0 && text != "0" { format!("-{text}") } else { text }
}

/// Appends a count of `10^-12`, as `write_fixed` would write it in more time.
fn push_units(out: &mut Vec<u8>, units: u64) {
    const UNIT: u64 = 10u64.pow(AMOUNT_DECIMALS);
    let (whole, fraction) = (units / UNIT, units % UNIT);
    let mut text = itoa::Buffer::new();
    out.extend_from_slice(text.format(whole).as_bytes());
    if fraction > 0 {
        out.push(b'.');
        // The one in front keeps the zeros that follow it.
        out.extend_from_slice(text.format(UNIT + fraction)[1..].trim_end_matches('0').as_bytes());
    }
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
