//! Kinds of values as a person names them.

use super::super::slots::SlotNameError;
use super::lists::is_too_long;

/// What serde's own types expect, in the words of the documents.
pub fn in_words(expected: &str) -> String {
    let ours = match expected {
        "a map" => "an object",
        "a sequence" => "an array",
        "a string" | "string" | "a borrowed string" | "str" => "a text",
        "a boolean" => "true or false",
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "a nonzero u32" => "a whole number from 1 to 4294967295",
        "u64" | "usize" => "a whole number, 0 or more",
        "i32" => "a whole number from -2147483648 to 2147483647",
        "i64" => "a whole number",
        "f32" | "f64" => "a number",
        UUID => "a UUID",
        theirs if theirs.starts_with("struct ") => "an object",
        other => other,
    };
    ours.to_owned()
}

/// What a UUID's own type expects.
pub const UUID: &str = "a formatted UUID string";

/// What is said of a text with the character NUL, which `PostgreSQL` cannot store.
pub const NUL: &str = "holds the character NUL (U+0000), which no text here may hold";
/// Its code.
pub const INVALID_CHARACTER: &str = "invalid_character";

/// Names to choose from.
pub fn one_of(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The code of what a value's own type says of it. Deserialisers pass on nothing but the sentence.
pub fn code_of(said: &str) -> &'static str {
    match said {
        NUL => INVALID_CHARACTER,
        said if is_too_long(said) => "too_many",
        said => SlotNameError::code_of(said).unwrap_or("invalid_value"),
    }
}
