//! Extractors that refuse with problems. 400: the request cannot be parsed. 422: it can, but contains faults, each with
//! its place.

mod elements;
mod json;
mod path;
mod query;
mod reason;

pub use elements::{ArrayElement, ArrayElements};
pub use json::{JsonBody, is_silence, json_answer, json_response, json_text, media_type, read_body};
pub use path::PathParams;
pub use query::{GroupParams, QueryParams};
pub use reason::WithReason;

pub use crate::service::input::json::{JsonError, read};
