//! The names of kinds of values for users.

use super::super::slots::SlotNameError;
use super::lists::is_too_long;

/// Translates what serde's types expect into the words of the documentation.
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
        UUID_EXPECTATION => "a UUID",
        theirs if theirs.starts_with("struct ") => "an object",
        other => other,
    };
    ours.to_owned()
}

/// The expectation of the UUID type.
pub const UUID_EXPECTATION: &str = "a formatted UUID string";

/// The message about a text with the character NUL, which `PostgreSQL` cannot store.
pub const NUL_MESSAGE: &str = "holds the character NUL (U+0000), which no text here may hold";
/// The code of that fault.
pub const INVALID_CHARACTER: &str = "invalid_character";

/// A list of names to choose from.
pub fn one_of(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The code of a message of a value's type. It is derived from the message, because deserialisers pass on nothing else.
pub fn code_of(said: &str) -> &'static str {
    match said {
        NUL_MESSAGE => INVALID_CHARACTER,
        said if is_too_long(said) => "too_many",
        said => SlotNameError::code_of(said).unwrap_or("invalid_value"),
    }
}
