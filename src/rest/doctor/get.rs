//! `GET /doctor`: all checks of the server, with remedies.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::time::Timestamp;
use crate::rest::problem::Result;
use crate::service::doctor::CheckResult;
use crate::service::{Caller, Service};

/// The findings of the checks.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "checked_at": "2026-01-13T10:00:00Z",
    "items": [
        {"check": "schema", "status": "ok", "detail": "every migration is applied", "remedy": null},
        {"check": "look_back", "status": "warning",
            "detail": "the half-life is longer than the look-back, so that usage is forgotten all at once: gpu-cluster",
            "remedy": "choose a look-back of several half-lives: `fairshared options set GROUP lookback_days=28 half_life_days=7`"}
    ]
}))]
pub struct DoctorReport {
    /// The time that the server's clock showed.
    #[schema(value_type = String, format = DateTime)]
    pub checked_at: Timestamp,
    /// One for each check, always in this order.
    pub items: Vec<CheckResult>,
}

/// Makes every check of the server and its groups: schema, rights in the database, disk, clock, capacity, slots, domains, mode,
/// look-back, options and purge. A key that is limited to groups gets the checks of those groups.
#[utoipa::path(
    get, path = "/doctor", operation_id = "get_doctor", tag = "Operations", responses((status = 200, body = DoctorReport))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<DoctorReport>> {
    let items = service.examine(&caller).await?;
    Ok(Json(DoctorReport { checked_at: service.clock().now(), items }))
}
