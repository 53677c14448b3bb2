//! Health and readiness as REST shows them.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::time::Timestamp;
use crate::engine::upkeep::health::LastingCondition;

/// The health of the process.
#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    #[schema(example = "ok")]
    pub status: &'static str,
}

impl Health {
    pub const OK: Self = Self { status: "ok" };
}

/// The readiness of this server for requests, and its faults.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"status": "degraded", "reasons": [{
    "code": "database_unreachable", "detail": "the database does not answer", "since": "2026-01-13T10:00:00Z",
    "refuses_writes": true
}]}))]
pub struct Readiness {
    /// `ready`, or `degraded` while anything is wrong.
    pub status: &'static str,
    /// Everything that is wrong now, by code.
    pub reasons: Vec<ReasonView>,
}

/// Something that is wrong until its cause is gone.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReadinessReason)]
pub struct ReasonView {
    /// The stable name of the condition.
    pub code: &'static str,
    /// A sentence about the fault.
    pub detail: String,
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// True if writes are refused while it lasts.
    pub refuses_writes: bool,
}

impl From<Vec<LastingCondition>> for Readiness {
    fn from(reasons: Vec<LastingCondition>) -> Self {
        let view = |LastingCondition { condition, since }| ReasonView {
            code: condition.code,
            detail: condition.detail,
            since,
            refuses_writes: condition.refuses_writes,
        };
        let status = if reasons.is_empty() { "ready" } else { "degraded" };
        Self { status, reasons: reasons.into_iter().map(view).collect() }
    }
}
