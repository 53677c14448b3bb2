//! JSON documents, with the place of every fault. The status is 400 if the text is not JSON, and 422 if it is JSON of
//! another form.

use serde::Deserialize;
use serde_json::error::Category;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::domain::decimal::with_exact_numbers;
use crate::domain::reading::{DecodeError, UniqueObject, UniqueValue, read_from};
use crate::engine::error::{Error, Fault};

/// The largest depth of JSON. No request needs ten levels.
pub const MAX_DEPTH: usize = 100;

/// The name of the document in sentences about all of it.
const DOCUMENT_NAME: &str = "the JSON document";

/// The reason why bytes are not a `T`.
#[derive(Debug)]
pub enum JsonError {
    /// The text is not JSON.
    Malformed { code: &'static str, detail: String },
    /// The text is JSON, but of another form.
    Wrong(Fault),
}

impl From<JsonError> for Error {
    fn from(error: JsonError) -> Self {
        match error {
            JsonError::Malformed { code, detail } => Self::Malformed { code, detail },
            JsonError::Wrong(fault) => Self::Invalid(vec![fault]),
        }
    }
}

impl From<JsonError> for Fault {
    fn from(error: JsonError) -> Self {
        match error {
            JsonError::Malformed { code, detail } => Self::new("", code, detail),
            JsonError::Wrong(fault) => fault,
        }
    }
}

/// The byte order mark of UTF-8, which some programs write before a text.
pub const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The bytes of a text without the byte order mark before it.
pub fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

/// Parses one JSON document.
pub fn read<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, JsonError> {
    let bytes = without_mark(bytes);
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    match read_from(&mut deserializer, "invalid_type") {
        Ok(value) if deserializer.end().is_ok() => Ok(value),
        read => Err(find_json_error(bytes, read.err())),
    }
}

/// Parses one JSON object. Decimals are kept as they are written, because values contain numbers as floats.
pub fn read_map(bytes: &[u8]) -> Result<Map<String, Value>, JsonError> {
    let bytes = without_mark(bytes);
    let kept = std::str::from_utf8(bytes).map(with_exact_numbers).unwrap_or_default();
    // If it fails, the original document is parsed, so that faults have its places.
    let UniqueObject { map, repeated } = read(kept.as_bytes()).or_else(|_| read(bytes))?;
    reject_repeated_keys(map, repeated).map_err(JsonError::Wrong)
}

/// Parses JSON of any form inside a text. Decimals are kept as they are written.
pub fn read_any(text: &str) -> Result<Value, Fault> {
    let read = serde_json::from_str(&with_exact_numbers(text)).or_else(|_| serde_json::from_str(text));
    let UniqueValue { value, repeated } = read.map_err(|error| Fault::new("", "invalid_json", not_json(&error)))?;
    reject_repeated_keys(value, repeated)
}

/// The value, or a fault if an object in it repeats a key.
fn reject_repeated_keys<T>(value: T, repeated: Option<String>) -> Result<T, Fault> {
    repeated.map_or(Ok(value), |pointer| Err(Fault::about(pointer, "duplicate_field", "is given twice")))
}

/// An object within a document that is parsed later. Decimals are kept as they are written, because values contain
/// numbers as floats.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct UnparsedObject(Box<RawValue>);

impl UnparsedObject {
    /// The text of the object. It is JSON, but may be of another kind than an object.
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// Parses the object, which is at `key` in its document.
    pub fn into_map(self, key: &str) -> Result<Map<String, Value>, JsonError> {
        let json = self.0.get();
        let read = read_from(&mut serde_json::Deserializer::from_str(&with_exact_numbers(json)), "invalid_type");
        let UniqueObject { map, repeated } =
            read.map_err(|misread: DecodeError| find_json_error(json.as_bytes(), Some(misread.below(key))))?;
        reject_repeated_keys(map, repeated).map_err(|fault| JsonError::Wrong(fault.below(&format!("/{key}"))))
    }
}

/// Finds the reason of a failure, which need not be fast: the text is not JSON, or one place of the document is wrong.
fn find_json_error(bytes: &[u8], misread: Option<DecodeError>) -> JsonError {
    if let Err(error) = std::str::from_utf8(bytes) {
        let detail = format!("{DOCUMENT_NAME} is not UTF-8 text from byte {} on", error.valid_up_to());
        return JsonError::Malformed { code: "invalid_utf8", detail };
    }
    if is_too_deep(bytes) {
        return too_deep();
    }
    if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(bytes) {
        return JsonError::Malformed { code: "malformed_json", detail: not_json(&error) };
    }
    match misread {
        Some(misread) => JsonError::Wrong(misread.fault(DOCUMENT_NAME)),
        None => JsonError::Malformed { code: "malformed_json", detail: format!("{DOCUMENT_NAME} cannot be read") },
    }
}

/// The position at which a text stops being JSON.
fn not_json(error: &serde_json::Error) -> String {
    match error.classify() {
        Category::Eof => format!("{DOCUMENT_NAME} ends too early"),
        _ => format!("{DOCUMENT_NAME} is not JSON from line {}, column {} on", error.line(), error.column()),
    }
}

/// The error of a document that [`is_too_deep`].
pub fn too_deep() -> JsonError {
    let detail = format!("{DOCUMENT_NAME} is nested deeper than {MAX_DEPTH} levels");
    JsonError::Malformed { code: "too_deep", detail }
}

/// True if brackets outside of texts are nested deeper than [`MAX_DEPTH`].
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
