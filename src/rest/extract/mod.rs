//! Extractors whose refusals are problems. 400: not parseable; 422: parseable but wrong, with the place.

mod elements;
mod json;
mod path;
mod query;
mod reason;

pub use elements::{Element, Elements};
pub use json::{JsonBody, is_silence, json_answer, json_text, media_type, read_body, written};
pub use path::PathParams;
pub use query::{GroupParams, QueryParams};
pub use reason::WithReason;

pub use crate::service::input::json::{Unreadable, read};
