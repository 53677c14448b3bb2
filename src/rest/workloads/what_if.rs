//! `POST /resource-groups/{rg}/workloads/{workload_id}/what-if`: whether a workload would start if it were different.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use crate::rest::extract::{JsonBody, PathParams};
use crate::rest::paths::WorkloadPath;
use crate::rest::problem::Result;
use crate::service::cycle_plans::what_if::{WorkloadChange, WorkloadWhatIf};
use crate::service::{Caller, Service};

/// Shows whether a workload that waits would start now if it were alone, smaller, shorter, in another queue or of another priority.
/// Nothing is changed.
#[utoipa::path(
    post, path = "/resource-groups/{rg}/workloads/{workload_id}/what-if", operation_id = "post_workload_what_if",
    tag = "Workloads", params(WorkloadPath), request_body = WorkloadChange, responses((status = 200, body = WorkloadWhatIf))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<WorkloadPath>,
    JsonBody(change): JsonBody<WorkloadChange>,
) -> Result<Json<WorkloadWhatIf>> {
    Ok(Json(service.workload_what_if(&caller, &path.rg, &path.workload_id, change).await?))
}
