//! JSON documents with the place of every fault. 400: not parseable; 422: parseable but wrong.

use serde::Deserialize;
use serde_json::error::Category;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::error::{Error, Fault};
use crate::domain::decimal::with_kept_numbers;
use crate::domain::reading::{Misread, read_from};

/// Deeper JSON than this is refused as unreadable; nothing here needs ten levels.
pub const MAX_DEPTH: usize = 100;

/// What a document is called in sentences about all of it.
const WHOLE: &str = "the JSON document";

/// Why bytes are not a `T`.
#[derive(Debug)]
pub enum Unreadable {
    /// Not JSON at all.
    Malformed { code: &'static str, detail: String },
    /// JSON, but not of this form.
    Wrong(Fault),
}

impl From<Unreadable> for Error {
    fn from(error: Unreadable) -> Self {
        match error {
            Unreadable::Malformed { code, detail } => Self::Malformed { code, detail },
            Unreadable::Wrong(fault) => Self::Invalid(vec![fault]),
        }
    }
}

impl From<Unreadable> for Fault {
    fn from(error: Unreadable) -> Self {
        match error {
            Unreadable::Malformed { code, detail } => Self::new("", code, detail),
            Unreadable::Wrong(fault) => fault,
        }
    }
}

impl From<Misread> for Fault {
    fn from(misread: Misread) -> Self {
        Self::new(misread.pointer(), misread.code(), misread.sentence(WHOLE))
    }
}

/// Reads one JSON document.
pub fn read<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Unreadable> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let read = read_from::<T, _>(&mut deserializer, "invalid_type");
    match read {
        Ok(value) if deserializer.end().is_ok() => Ok(value),
        read => Err(why(bytes, read.err())),
    }
}

/// Reads one JSON object, with its decimals as they are written: values hold numbers as floats.
pub fn read_map(bytes: &[u8]) -> Result<Map<String, Value>, Unreadable> {
    let kept = std::str::from_utf8(bytes).map(with_kept_numbers).unwrap_or_default();
    // Faults are told by their places in the document as it came.
    read(kept.as_bytes()).or_else(|_| read(bytes))
}

/// An object within a document, with its decimals as they are written: values hold numbers as floats.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Unread(Box<RawValue>);

impl Unread {
    /// The object, which stands at `key` in its document.
    pub fn into_map(self, key: &str) -> Result<Map<String, Value>, Unreadable> {
        let json = self.0.get();
        let read = read_from(&mut serde_json::Deserializer::from_str(&with_kept_numbers(json)), "invalid_type");
        read.map_err(|misread: Misread| why(json.as_bytes(), Some(misread.below(key))))
    }
}

/// Looks for the reason at leisure: whether the document is JSON, and if it is, which place has the fault.
fn why(bytes: &[u8], misread: Option<Misread>) -> Unreadable {
    if let Err(error) = std::str::from_utf8(bytes) {
        let detail = format!("{WHOLE} is not UTF-8 text from byte {} on", error.valid_up_to());
        return Unreadable::Malformed { code: "invalid_utf8", detail };
    }
    if is_too_deep(bytes) {
        return too_deep();
    }
    if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(bytes) {
        return Unreadable::Malformed { code: "malformed_json", detail: not_json(&error) };
    }
    match misread {
        Some(misread) => Unreadable::Wrong(misread.into()),
        None => Unreadable::Malformed { code: "malformed_json", detail: format!("{WHOLE} cannot be read") },
    }
}

/// Where a text stops being JSON.
pub fn not_json(error: &serde_json::Error) -> String {
    match error.classify() {
        Category::Eof => format!("{WHOLE} ends too early"),
        _ => format!("{WHOLE} is not JSON from line {}, column {} on", error.line(), error.column()),
    }
}

/// The refusal of a document that [`is_too_deep`].
pub fn too_deep() -> Unreadable {
    let detail = format!("{WHOLE} is nested deeper than {MAX_DEPTH} levels");
    Unreadable::Malformed { code: "too_deep", detail }
}

/// Whether brackets nest deeper than [`MAX_DEPTH`] outside of texts.
fn is_too_deep(bytes: &[u8]) -> bool {
    let (mut depth, mut in_text, mut escaped) = (0usize, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return true;
                }
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::read;
    use crate::domain::decimal::Amount;
    use crate::domain::slots::Amounts;
    use crate::domain::time::Timestamp;
    use crate::service::input::error::Error;

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only read")]
    struct Sample {
        id: Option<uuid::Uuid>,
        count: Option<u32>,
        ratio: Option<f64>,
        list: Option<Vec<u8>>,
        map: Option<BTreeMap<String, u8>>,
        kind: Option<Which>,
        amount: Option<Amount>,
        slots: Option<Amounts>,
        at: Option<Timestamp>,
        inner: Option<Inner>,
        more: Option<Vec<Inner>>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Which {
        First,
        Second,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only read")]
    struct Inner {
        a: u8,
    }

    #[test]
    fn faults_are_told_in_sentences_that_begin_with_their_subject() {
        for (body, code, detail) in [
            ("7", "invalid_type", "the JSON document is not an object"),
            (r#"{"id": "x"}"#, "invalid_uuid", "`id` is not a UUID"),
            (r#"{"id": 7}"#, "invalid_type", "`id` is not a UUID"),
            (r#"{"count": "x"}"#, "invalid_type", "`count` is not a whole number from 0 to 4294967295"),
            (r#"{"count": -1}"#, "invalid_value", "`count` is not a whole number from 0 to 4294967295"),
            (r#"{"count": 1e999}"#, "invalid_type", "`count` is not a whole number from 0 to 4294967295"),
            (r#"{"ratio": "x"}"#, "invalid_type", "`ratio` is not a number"),
            (r#"{"list": 1}"#, "invalid_type", "`list` is not an array"),
            (r#"{"list": [1, [], 2]}"#, "invalid_type", "`list[1]` is not a whole number from 0 to 255"),
            (r#"{"map": 1}"#, "invalid_type", "`map` is not an object"),
            (r#"{"map": {"a": true}}"#, "invalid_type", "`map.a` is not a whole number from 0 to 255"),
            (r#"{"kind": "third"}"#, "invalid_value", "`kind` is not one of `first`, `second`"),
            (r#"{"kind": 3}"#, "invalid_value", "`kind` is not one of `first`, `second`"),
            (r#"{"amount": true}"#, "invalid_type", "`amount` is not a decimal number"),
            (r#"{"amount": {}}"#, "invalid_type", "`amount` is not a decimal number"),
            (r#"{"amount": "1,5"}"#, "invalid_value", "`amount` is not a decimal number"),
            (r#"{"amount": -1}"#, "invalid_value", "`amount` must not be negative"),
            (r#"{"slots": {"cpu": "x"}}"#, "invalid_value", "`slots.cpu` is not a decimal number"),
            (r#"{"slots": {"cpu": 1, "cpu": 2}}"#, "invalid_value", "`slots` names the slot cpu twice"),
            (
                r#"{"at": "noon"}"#,
                "invalid_value",
                "`at` is not an RFC 3339 time between the years 1970 and 9999, like 2026-01-13T10:00:00Z",
            ),
            (r#"{"at": 7}"#, "invalid_type", "`at` is not a text"),
            (r#"{"inner": {"a": 1, "a": 2}}"#, "duplicate_field", "`inner.a` is given twice"),
            (r#"{"inner": {}}"#, "missing_field", "`inner.a` is missing"),
            (r#"{"inner": [7]}"#, "invalid_type", "`inner` is not an object"),
            (r#"{"more": [{"b": 1}]}"#, "unknown_field", "`b` is not known here; known are `a`"),
        ] {
            let Error::Invalid(faults) = read::<Sample>(body.as_bytes()).unwrap_err().into() else { panic!("{body}") };
            assert_eq!((faults[0].code, faults[0].detail.as_str()), (code, detail), "{body}");
        }
    }

    #[test]
    fn texts_that_are_no_json_are_told_by_their_place() {
        for (body, code, detail) in [
            ("nul", "malformed_json", "the JSON document ends too early"),
            ("nil", "malformed_json", "the JSON document is not JSON from line 1, column 2 on"),
            ("{\"count\": 1}\n}", "malformed_json", "the JSON document is not JSON from line 2, column 1 on"),
            ("{\"count\": ", "malformed_json", "the JSON document ends too early"),
        ] {
            let Error::Malformed { code: found, detail: told } = read::<Sample>(body.as_bytes()).unwrap_err().into()
            else {
                panic!("{body}")
            };
            assert_eq!((found, told.as_str()), (code, detail), "{body}");
        }
    }

    #[test]
    fn a_number_is_read_from_its_digits() {
        let amount = |json: &str| {
            read::<Sample>(format!(r#"{{"amount": {json}}}"#).as_bytes()).map(|s| s.amount.unwrap().to_string())
        };
        for (json, text) in [
            ("0.3333333333333333", "0.333333333333"),
            ("0.30000000000000004", "0.3"),
            ("0.0000000000005", "0.000000000001"),
            ("0.00000000000049999999999999999999", "0"),
            ("1e3", "1000"),
            ("12.5E-1", "1.25"),
            ("1e-400", "0"),
            ("0e99999999999", "0"),
            ("-0.0", "0"),
            ("999999999999999999999.000000000001", "999999999999999999999.000000000001"),
            ("100000000000000000001", "100000000000000000001"),
            ("123456789012345678.1234567890125", "123456789012345678.123456789013"),
            ("9.9999999999999", "10"),
            (r#""0.5""#, "0.5"),
            (r#""\u0035""#, "5"),
        ] {
            assert_eq!(amount(json).unwrap(), text, "{json}");
        }
        for json in ["1e22", "1e99999999999", "-1e-400", "-1", r#""0.3333333333333333""#, r#""1e3""#] {
            assert!(amount(json).is_err(), "{json}");
        }
    }
}
