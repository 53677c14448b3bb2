//! The warnings about a queue tree.

use serde::Serialize;
use utoipa::ToSchema;

use crate::slots::SlotName;

/// Something that a person should look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct DivisionWarning {
    pub code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<&'static str>,
    pub detail: String,
}

impl DivisionWarning {
    pub fn new(code: &'static str, queue: Option<&str>, slot: Option<SlotName>, detail: impl Into<String>) -> Self {
        Self { code, queue: queue.map(str::to_owned), slot: slot.map(SlotName::as_str), detail: detail.into() }
    }

    pub fn request_below_allocation(queue: &str, slot: SlotName) -> Self {
        let detail =
            format!("the request of {slot} is below the allocation: the queue deserves no more than it asks for");
        Self::new("request_below_allocation", Some(queue), Some(slot), detail)
    }
}
