//! The numbers by which an answer identifies the rows of a body.

use axum::http::HeaderMap;

use crate::rest::extract;
use crate::rest::problem::Problem;

const NDJSON_MEDIA_TYPE: &str = "application/x-ndjson";

/// How rows are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowCounting {
    /// Places in an array, from 0.
    Index,
    /// Lines of a stream, from 1.
    Line,
}

impl RowCounting {
    /// The counting for the content type of a body.
    pub fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let kind = extract::media_type(headers, &["application/json", NDJSON_MEDIA_TYPE])?;
        Ok(if kind == NDJSON_MEDIA_TYPE { Self::Line } else { Self::Index })
    }

    /// The place of a row as an answer gives it: its index, or its line.
    pub fn number(self, place: u64) -> (Option<u64>, Option<u64>) {
        match self {
            Self::Index => (Some(place), None),
            Self::Line => (None, Some(place)),
        }
    }
}
