//! Protects decimals in JSON from a parser that reads numbers as floats.
//!
//! The feature `arbitrary_precision` of `serde_json` would do this too, but for every number that any part of the
//! program reads. Raw values would parse a nested document once for each level.

use std::borrow::Cow;

use serde_json::Number;

use super::Amount;
use super::written::plain_number;

/// `json` with numbers as texts where a float would change the decimal; they are rounded to the places of an amount.
/// Everything else stays as it is, invalid JSON included.
pub fn with_exact_numbers(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let (mut kept, mut copied, mut at) = (String::new(), 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_text(bytes, at),
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                let end = bytes[at..].iter().position(|byte| !is_part(byte)).map_or(bytes.len(), |len| at + len);
                if let Some(decimal) = changed_as_float(&json[at..end]) {
                    kept.extend([&json[copied..at], "\"", &decimal.to_string(), "\""]);
                    copied = end;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    if copied == 0 { Cow::Borrowed(json) } else { Cow::Owned(kept + &json[copied..]) }
}

/// The end of the text that begins at `start`.
fn end_of_text(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The decimal of a JSON number, if its float is a different decimal.
fn changed_as_float(number: &str) -> Option<Amount> {
    let decimal = |number: &str| plain_number(number).and_then(|plain| plain.parse::<Amount>()).ok();
    let float: Number = serde_json::from_str(number).ok()?;
    let exact = decimal(number)?;
    (decimal(&float.to_string()) != Some(exact)).then_some(exact)
}
