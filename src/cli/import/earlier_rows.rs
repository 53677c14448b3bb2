//! The answer of the server to rows whose jobs ended before it keeps usage.

use serde::Deserialize;

use crate::domain::time::Day;

/// Rows of jobs that ended before the server keeps usage.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct EarlierRows {
    #[serde(rename = "kernels")]
    pub rows: u64,
    /// The day before which these jobs ended.
    pub before: Day,
    /// The history that contains their usage.
    pub source: String,
}
