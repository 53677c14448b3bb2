//! Extractors whose refusals are problems. 400: not parseable; 422: parseable but wrong, with the place.

mod json;
mod objects;
mod path;
mod query;

use serde_path_to_error::{Path, Segment};

pub use json::{JsonBody, MAX_DEPTH, Unreadable, is_too_deep, media_type, read, read_body};
pub use path::PathParams;
pub use query::QueryParams;

use crate::domain::slots::SlotNameError;
use crate::service::Fault;

/// A fault as serde tells it, at the place where it happened.
fn fault(path: &Path, message: &str, place: impl Fn(&Path, Option<&str>) -> String) -> Fault {
    let quoted = |prefix: &str| message.strip_prefix(prefix).and_then(|rest| rest.split('`').next());
    let (code, key) = if let Some(key) = quoted("missing field `") {
        ("missing_field", Some(key))
    } else if let Some(key) = quoted("unknown field `") {
        ("unknown_field", Some(key))
    } else if let Some(key) = quoted("duplicate field `") {
        ("duplicate_field", Some(key))
    } else if message.starts_with("invalid type") {
        ("invalid_type", None)
    } else if let Some(code) = SlotNameError::code_of(message) {
        (code, None)
    } else {
        ("invalid_value", None)
    };
    let detail = message.split(" at line ").next().unwrap_or(message);
    Fault::new(place(path, key), code, detail)
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
