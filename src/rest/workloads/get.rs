//! `GET /resource-groups/{rg}/workloads/{workload_id}`: one workload.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use crate::rest::extract::PathParams;
use crate::rest::paths::WorkloadPath;
use crate::rest::problem::Result;
use crate::service::workloads::answer::WorkloadItem;
use crate::service::{Caller, Service};

/// One workload with the ids of its kernels.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/workloads/{workload_id}", operation_id = "get_workload", tag = "Workloads",
    params(WorkloadPath), responses((status = 200, body = WorkloadItem))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<WorkloadPath>,
) -> Result<Json<WorkloadItem>> {
    Ok(Json(service.workload(&caller, &path.rg, &path.workload_id).await?))
}
