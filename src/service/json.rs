//! JSON documents with the place of every fault. 400: not parseable; 422: parseable but wrong.

use serde::Deserialize;
use serde_path_to_error::{Path, Segment};

use super::error::{Error, Fault};
use super::objects::Objects;
use crate::domain::slots::SlotNameError;

/// Deeper JSON than this is refused as unreadable; nothing here needs ten levels.
pub const MAX_DEPTH: usize = 100;

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

/// Reads one JSON document.
pub fn read<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Unreadable> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = T::deserialize(Objects(&mut deserializer)).and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|_| why::<T>(bytes))
}

/// Looks for the reason at leisure: whether the document is JSON, and which place has the fault.
fn why<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Unreadable {
    let malformed = |code, detail: String| Unreadable::Malformed { code, detail };
    if let Err(error) = std::str::from_utf8(bytes) {
        return malformed("invalid_utf8", format!("not UTF-8 text from byte {} on", error.valid_up_to()));
    }
    if is_too_deep(bytes) {
        return malformed("too_deep", format!("JSON nested deeper than {MAX_DEPTH} levels"));
    }
    if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(bytes) {
        return malformed("malformed_json", format!("not JSON: {error}"));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    match serde_path_to_error::deserialize::<_, T>(Objects(&mut deserializer)) {
        Err(error) => {
            let message = error.inner().to_string();
            if error.inner().is_data() {
                Unreadable::Wrong(fault(error.path(), &message, pointer))
            } else {
                malformed("malformed_json", format!("not JSON: {message}"))
            }
        }
        Ok(_) => malformed("malformed_json", "not one JSON document".to_owned()),
    }
}

/// Whether brackets nest deeper than [`MAX_DEPTH`] outside of texts.
pub fn is_too_deep(bytes: &[u8]) -> bool {
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

/// A fault as serde tells it, at the place where it happened.
pub fn fault(path: &Path, message: &str, place: impl Fn(&Path, Option<&str>) -> String) -> Fault {
    let quoted = |prefix: &str| message.strip_prefix(prefix).and_then(|rest| rest.split('`').next());
    let (code, key) = if let Some(key) = quoted("missing field `") {
        ("missing_field", Some(key))
    } else if let Some(key) = quoted("unknown field `") {
        ("unknown_field", Some(key))
    } else if let Some(key) = quoted("duplicate field `") {
        ("duplicate_field", Some(key))
    } else if message.starts_with("invalid type") {
        ("invalid_type", None)
    } else if message.starts_with(NO_UUID) {
        ("invalid_uuid", None)
    } else if let Some(code) = SlotNameError::code_of(message) {
        (code, None)
    } else {
        ("invalid_value", None)
    };
    Fault::new(place(path, key), code, in_words(message.split(" at line ").next().unwrap_or(message)))
}

/// What is wrong with a value that was read from a text.
pub fn of_text(pointer: String, message: &str) -> Fault {
    let code = if message.starts_with(NO_UUID) { "invalid_uuid" } else { "invalid_value" };
    Fault::new(pointer, code, in_words(message))
}

/// How messages about texts that are no UUID begin.
const NO_UUID: &str = "UUID parsing failed";

/// The message without the names of our types.
fn in_words(message: &str) -> String {
    if message.starts_with(NO_UUID) {
        return "not a UUID".to_owned();
    }
    if message == "invalid digit found in string" {
        return "not a whole number".to_owned();
    }
    let Some((before, expected)) = message.rsplit_once("expected ") else { return message.to_owned() };
    let ours = match expected {
        "a map" => "an object",
        "a sequence" => "an array",
        "u8" | "u16" => "a small whole number, 0 or more",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number, 0 or more",
        "i32" => "a whole number from -2147483648 to 2147483647",
        "i64" => "a whole number",
        "f64" => "a number",
        theirs if theirs.starts_with("struct ") => "an object",
        other => other,
    };
    format!("{before}expected {ours}")
}

/// The JSON pointer of a path, with the key that the message itself names.
fn pointer(path: &Path, key: Option<&str>) -> String {
    let mut parts: Vec<String> = path
        .iter()
        .filter_map(|segment| match segment {
            Segment::Seq { index } => Some(index.to_string()),
            Segment::Map { key } => Some(key.clone()),
            Segment::Enum { variant } => Some(variant.clone()),
            Segment::Unknown => None,
        })
        .collect();
    if let Some(key) = key.filter(|k| parts.last().is_none_or(|last| last != k)) {
        parts.push(key.to_owned());
    }
    parts.iter().fold(String::new(), |pointer, part| pointer + "/" + &part.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::read;
    use crate::service::error::Error;

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only read")]
    struct Sample {
        id: Option<uuid::Uuid>,
        count: Option<u32>,
        ratio: Option<f64>,
        list: Option<Vec<u8>>,
        map: Option<BTreeMap<String, u8>>,
    }

    #[test]
    fn faults_are_told_in_words_of_the_user() {
        for (body, code, detail) in [
            ("7", "invalid_type", "invalid type: integer `7`, expected an object"),
            (r#"{"id": "x"}"#, "invalid_uuid", "not a UUID"),
            (
                r#"{"count": "x"}"#,
                "invalid_type",
                "invalid type: string \"x\", expected a whole number from 0 to 4294967295",
            ),
            (
                r#"{"count": -1}"#,
                "invalid_value",
                "invalid value: integer `-1`, expected a whole number from 0 to 4294967295",
            ),
            (r#"{"ratio": "x"}"#, "invalid_type", "invalid type: string \"x\", expected a number"),
            (r#"{"list": 1}"#, "invalid_type", "invalid type: integer `1`, expected an array"),
            (r#"{"map": 1}"#, "invalid_type", "invalid type: integer `1`, expected an object"),
        ] {
            let Error::Invalid(faults) = read::<Sample>(body.as_bytes()).unwrap_err().into() else { panic!("{body}") };
            assert_eq!((faults[0].code, faults[0].detail.as_str()), (code, detail), "{body}");
        }
    }
}
