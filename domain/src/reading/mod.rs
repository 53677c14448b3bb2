//! Faults of documents that cannot be read as a value: the place, the kind, and a sentence that begins with the
//! subject. Deserialisers report faults as texts; here their kinds are preserved.

mod lists;
mod read_only;
pub mod seconds;
mod traced;
mod unique;
mod words;

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Expected, Unexpected};

use super::fault::{Fault, escape_key};
pub use lists::{AtMost, at_most, at_most_if_any, too_long};
pub use read_only::ReadOnly;
pub use unique::{UniqueObject, UniqueValue};
pub use words::{INVALID_CHARACTER, NUL_MESSAGE};
use words::{in_words, one_of};

/// A step from a value to one of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PathStep {
    Key(String),
    Index(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum DecodeErrorKind {
    /// The value is not of the expected kind.
    Not {
        what: String,
        code: &'static str,
    },
    /// The value is none of the allowed names.
    NoneOf(&'static [&'static str]),
    UnknownKey {
        key: String,
        known: &'static [&'static str],
    },
    MissingKey(&'static str),
    RepeatedKey(&'static str),
    /// The message of the value's own type, without a subject.
    Said(String),
}

/// The reason why a document is not the expected value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The path to the fault, from the inside out.
    steps: Vec<PathStep>,
    kind: DecodeErrorKind,
}

/// Reads a value, or the place and the kind of its first fault. Faults without a kind of their own get the code
/// `otherwise`.
pub fn read_from<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
    otherwise: &'static str,
) -> Result<T, DecodeError> {
    traced::read(deserializer, otherwise)
}

impl DecodeError {
    const fn new(kind: DecodeErrorKind) -> Self {
        Self { steps: Vec::new(), kind }
    }

    fn within(mut self, step: PathStep) -> Self {
        self.steps.push(step);
        self
    }

    /// The same fault, for a value that is itself at `key`.
    #[must_use]
    pub fn below(self, key: &str) -> Self {
        self.within(PathStep::Key(key.to_owned()))
    }

    /// The stable code of the fault in answers.
    pub fn code(&self) -> &'static str {
        match &self.kind {
            DecodeErrorKind::Not { code, .. } => code,
            DecodeErrorKind::NoneOf(_) => "invalid_value",
            DecodeErrorKind::UnknownKey { .. } => "unknown_field",
            DecodeErrorKind::MissingKey(_) => "missing_field",
            DecodeErrorKind::RepeatedKey(_) => "duplicate_field",
            DecodeErrorKind::Said(text) => words::code_of(text),
        }
    }

    /// The fault of a request. `whole` names the document.
    pub fn fault(&self, whole: &str) -> Fault {
        Fault::new(self.pointer(), self.code(), self.sentence(whole))
    }

    /// The fault of an option. A value of a wrong kind counts as an invalid value.
    pub fn option_fault(&self) -> Fault {
        let code = match self.code() {
            "unknown_field" => "unknown_option",
            "invalid_type" => "invalid_value",
            other => other,
        };
        Fault::new(self.pointer(), code, self.to_string())
    }

    /// The JSON pointer to the fault.
    pub fn pointer(&self) -> String {
        let steps = self.steps.iter().rev().map(|step| match step {
            PathStep::Key(key) => escape_key(key),
            PathStep::Index(index) => index.to_string(),
        });
        let key = self.key().map(escape_key);
        steps.chain(key).fold(String::new(), |pointer, part| pointer + "/" + &part)
    }

    /// The key that the fault is about.
    fn key(&self) -> Option<&str> {
        match &self.kind {
            DecodeErrorKind::UnknownKey { key, .. } => Some(key),
            DecodeErrorKind::MissingKey(key) | DecodeErrorKind::RepeatedKey(key) => Some(key),
            _ => None,
        }
    }

    /// The keys after the last index of a list, as a user would name them; empty for the whole document.
    fn subject(&self) -> String {
        let mut parts: Vec<&str> = self.key().into_iter().collect();
        let mut steps = self.steps.iter();
        let mut places = String::new();
        for step in &mut steps {
            match step {
                PathStep::Key(key) => {
                    parts.push(key);
                    if !places.is_empty() {
                        break;
                    }
                }
                PathStep::Index(index) if parts.is_empty() => places = format!("[{index}]{places}"),
                PathStep::Index(_) => break,
            }
        }
        parts.reverse();
        parts.join(".") + &places
    }

    /// A sentence about the fault. `whole` names the document.
    pub fn sentence(&self, whole: &str) -> String {
        let subject = self.subject();
        let subject = if subject.is_empty() { whole.to_owned() } else { format!("`{subject}`") };
        match &self.kind {
            DecodeErrorKind::Not { what, .. } => format!("{subject} is not {what}"),
            DecodeErrorKind::NoneOf(names) => format!("{subject} is not one of {}", one_of(names)),
            DecodeErrorKind::UnknownKey { known: [], .. } => format!("{subject} is not known here; nothing is"),
            DecodeErrorKind::UnknownKey { known, .. } => {
                format!("{subject} is not known here; known are {}", one_of(known))
            }
            DecodeErrorKind::MissingKey(_) => format!("{subject} is missing"),
            DecodeErrorKind::RepeatedKey(_) => format!("{subject} is given twice"),
            DecodeErrorKind::Said(text) => format!("{subject} {text}"),
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence("the document"))
    }
}

impl std::error::Error for DecodeError {}

impl Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(DecodeErrorKind::Said(message.to_string()))
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(DecodeErrorKind::Not { what: in_words(&expected.to_string()), code: "invalid_type" })
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(DecodeErrorKind::Not { what: in_words(&expected.to_string()), code: "invalid_value" })
    }

    fn invalid_length(_: usize, expected: &dyn Expected) -> Self {
        Self::invalid_value(Unexpected::Seq, expected)
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::new(DecodeErrorKind::NoneOf(expected))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::new(DecodeErrorKind::UnknownKey { key: field.to_owned(), known: expected })
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(DecodeErrorKind::MissingKey(field))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(DecodeErrorKind::RepeatedKey(field))
    }
}
