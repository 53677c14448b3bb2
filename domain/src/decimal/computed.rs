//! Computed numbers (64-bit floats) as decimal text.

use serde::{Serialize, Serializer};

use super::{AMOUNT_DECIMALS, AMOUNT_UNIT};

/// A computed number that is serialised as [`f64_text`].
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

/// A computed number (factor, normalised usage) as plain decimal text with at most 12 decimals (FAIR_SHARE §2).
pub fn f64_text(value: f64) -> String {
    let mut text = Vec::with_capacity(16);
    push_f64(&mut text, value);
    // The bytes are digits and points, which are UTF-8.
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

/// [`f64_text`] of a number that may be negative.
pub fn signed_text(value: f64) -> String {
    let text = f64_text(value.abs());
    if value < 0.0 && text != "0" { format!("-{text}") } else { text }
}

/// The longest text of a number of units of 10^-12: 8 digits, a point and 12 decimals.
type UnitsText = [u8; 21];

/// The text of a number of units of 10^-12. `write_fixed` gives the same text, but is slower.
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
        // The added leading digit keeps the zeros of the fraction.
        put(text.format(UNIT + fraction)[1..].trim_end_matches('0'));
    }
    // The bytes are digits and points, which are UTF-8.
    std::str::from_utf8(&room[..end]).unwrap_or_default()
}

/// The value in units of 10^-12, if it fits into 64 bits.
fn everyday_units(value: f64) -> Option<u64> {
    units_of(value).and_then(|units| u64::try_from(units).ok())
}

/// The value in units of 10^-12, rounded half to even. The standard formatter gives the same result, which is exact but
/// slow. `None` for negative and for large values.
fn units_of(value: f64) -> Option<u128> {
    const MANTISSA_BITS: u32 = 52;
    const BIAS: u64 = 1023;
    let bits = value.to_bits();
    let biased = bits >> MANTISSA_BITS;
    // A negative value also has a large exponent here, because the sign is the highest bit.
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
