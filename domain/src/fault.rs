//! The fault of a request and its place. This is the only form of a fault, from the rules up to the answers.

use std::fmt::Display;

use serde::Serialize;
use utoipa::ToSchema;

/// The largest number of faults in an answer. A person would not read more.
pub const MAX_FAULTS: usize = 100;

/// One fault in a request, with the place that has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, ToSchema)]
pub struct Fault {
    /// JSON pointer into the body, or `/` and the name of a parameter.
    pub pointer: String,
    pub code: &'static str,
    pub detail: String,
}

impl Fault {
    pub fn new(pointer: impl Into<String>, code: &'static str, detail: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), code, detail: detail.into() }
    }

    /// A fault whose sentence begins with the last key of `pointer`, such as "`weight` must be above 0".
    pub fn about(pointer: impl Into<String>, code: &'static str, said: impl Display) -> Self {
        let pointer = pointer.into();
        let detail = format!("{} {said}", subject(&pointer));
        Self { pointer, code, detail }
    }

    /// The same fault, for a value that is itself at `pointer`.
    #[must_use]
    pub fn below(self, pointer: &str) -> Self {
        Self { pointer: format!("{pointer}{}", self.pointer), ..self }
    }
}

/// A key, escaped for a JSON pointer.
pub fn escape_key(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// The last key of a pointer, as it appears in sentences. For an element of a list it is the key of the list.
fn subject(pointer: &str) -> String {
    let is_key = |part: &&str| !part.is_empty() && !part.bytes().all(|byte| byte.is_ascii_digit());
    let key = pointer.rsplit('/').find(is_key).unwrap_or("body");
    format!("`{}`", key.replace("~1", "/").replace("~0", "~"))
}
