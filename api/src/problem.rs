//! Refusals as `application/problem+json` (RFC 9457): as the server writes them, and the parts that clients read.

use std::collections::BTreeMap;

use domain::fault::Fault;
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A refusal, in the form of RFC 9457.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem, example = json!({
    "type": "urn:fairshared:problem:invalid_weight",
    "title": "Unprocessable Entity",
    "status": 422,
    "detail": "`weight` must be above 0; a weight is above 0, at most 999999.9999, with at most 4 decimals",
    "code": "invalid_weight",
    "request_id": "0198f9d0-6c5c-7d7e-9c35-0d6a7c4f2b11",
    "errors": [{
        "pointer": "/items/0/weight",
        "code": "invalid_weight",
        "detail": "`weight` must be above 0; a weight is above 0, at most 999999.9999, with at most 4 decimals"
    }]
}))]
pub struct ProblemView<'a> {
    /// A URI that names the kind of problem.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status in words.
    pub title: &'a str,
    pub status: u16,
    /// A sentence about the fault.
    pub detail: &'a str,
    /// The stable name of the error, the same in REST and GraphQL.
    pub code: &'a str,
    /// The request as the log and the audit log know it.
    pub request_id: &'a str,
    /// Every fault found in the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Fault>,
    /// The number of things that a removal or a snapshot would destroy or end, by kind, if it has to be confirmed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, u64>, required = false)]
    pub counts: BTreeMap<&'static str, u64>,
    /// The configuration as it is, where the request named another revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub config_revision: Option<String>,
    /// The change in the audit log that stands against the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub audit_id: Option<i64>,
    /// The author of that change.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub actor: Option<String>,
    /// When that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = DateTime, required = false)]
    pub at: Option<Timestamp>,
}

/// The parts of `application/problem+json` that are shown.
#[derive(Debug, Deserialize)]
pub struct ShownProblem {
    pub detail: String,
    pub code: String,
    #[serde(default)]
    pub request_id: String,
    #[serde(default)]
    pub errors: Vec<ShownFault>,
    #[serde(default)]
    pub counts: BTreeMap<String, u64>,
}

/// A fault of a problem, as clients read it.
#[derive(Debug, Deserialize)]
pub struct ShownFault {
    pub pointer: String,
    pub code: String,
    pub detail: String,
}
