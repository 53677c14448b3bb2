//! Computed numbers (64-bit floats) as decimal text.

use serde::{Serialize, Serializer};

/// A computed number that is serialised as [`f64_text`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComputedNumber(pub f64);

impl Serialize for ComputedNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&f64_text(self.0))
    }
}

/// A computed number (factor, normalised usage) as plain decimal text with at most 12 decimals (FAIR_SHARE §2).
pub fn f64_text(value: f64) -> String {
    let text = format!("{value:.12}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// [`f64_text`] of a number that may be negative.
pub fn signed_text(value: f64) -> String {
    let text = f64_text(value.abs());
    if value < 0.0 && text != "0" { format!("-{text}") } else { text }
}
