//! Computed numbers as decimal text.

use serde::{Serialize, Serializer};

use super::{AMOUNT_DECIMALS, AMOUNT_UNIT};

/// A computed number that answers show as [`f64_text`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Computed(pub f64);

impl Serialize for Computed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match everyday_units(self.0) {
            Some(units) => serializer.serialize_str(units_text(units, &mut UnitsText::default())),
            None => serializer.serialize_str(&f64_text(self.0)),
        }
    }
}

/// A computed `f64` (factor, normalised usage) as plain decimal text, at most 12 places (FAIR_SHARE §2).
pub fn f64_text(value: f64) -> String {
    let mut text = Vec::with_capacity(16);
    push_f64(&mut text, value);
    // Digits and points are UTF-8.
    String::from_utf8(text).unwrap_or_default()
}

/// Appends [`f64_text`].
pub fn push_f64(out: &mut Vec<u8>, value: f64) {
    if let Some(units) = everyday_units(value) {
        return out.extend_from_slice(units_text(units, &mut UnitsText::default()).as_bytes());
    }
    let text = format!("{value:.12}");
    out.extend_from_slice(text.trim_end_matches('0').trim_end_matches('.').as_bytes());
}

/// [`f64_text`] of a number that may be below 0.
pub fn signed_text(value: f64) -> String {
    let text = f64_text(value.abs());
    if value < 0.0 && text != "0" { format!("-{text}") } else { text }
}

/// Room for the longest text of a count of `10^-12`: 8 digits, a point, 12 places.
type UnitsText = [u8; 21];

/// A count of `10^-12`, as `write_fixed` would write it in more time.
fn units_text(units: u64, room: &mut UnitsText) -> &str {
    const UNIT: u64 = 10u64.pow(AMOUNT_DECIMALS);
    let (whole, fraction) = (units / UNIT, units % UNIT);
    let mut end = 0;
    let mut put = |digits: &str| {
        room[end..end + digits.len()].copy_from_slice(digits.as_bytes());
        end += digits.len();
    };
    let mut text = itoa::Buffer::new();
    put(text.format(whole));
    if fraction > 0 {
        put(".");
        // The one in front keeps the zeros that follow it.
        put(text.format(UNIT + fraction)[1..].trim_end_matches('0'));
    }
    // Digits and points are UTF-8.
    std::str::from_utf8(&room[..end]).unwrap_or_default()
}

/// The value in `10^-12`, as long as that is a number of everyday size.
fn everyday_units(value: f64) -> Option<u64> {
    units_of(value).and_then(|units| u64::try_from(units).ok())
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
