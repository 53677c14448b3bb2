//! A fault of a round or a check, with a stable code.

use std::fmt;

use serde::Serialize;

/// A program, a file or the server did not do what a round needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RoundFault {
    /// A stable word for programs.
    pub code: String,
    /// A sentence for people.
    pub detail: String,
}

impl RoundFault {
    pub fn new(code: &str, detail: impl Into<String>) -> Self {
        Self { code: code.to_owned(), detail: detail.into() }
    }

    /// The text of a program is not in the form that its reader knows. Nothing may be written from it.
    pub fn unknown_format(program: &str, line: &str, reason: &str) -> Self {
        Self::new("unknown_format", format!("{program} printed {line:?}, and {reason}"))
    }

    /// The text of a program broke off.
    pub fn half_answer(program: &str) -> Self {
        Self::new("half_answer", format!("the answer of {program} broke off within a line"))
    }
}

impl fmt::Display for RoundFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.detail)
    }
}

impl std::error::Error for RoundFault {}
