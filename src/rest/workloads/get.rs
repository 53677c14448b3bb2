//! `GET /resource-groups/{rg}/workloads/{workload_id}`: one workload.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::paths::WorkloadPath;
use crate::rest::problem::Result;
use crate::service::workloads::answer::WorkloadItem;
use crate::service::{Caller, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WorkloadDetailQuery {
    /// True to get `helps`: the changes with which it would start earlier. That takes several forecasts.
    #[serde(default)]
    #[param(default = false)]
    pub helps: bool,
}

/// One workload with the ids of its kernels, and when it starts.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/workloads/{workload_id}", operation_id = "get_workload", tag = "Workloads",
    params(WorkloadPath, WorkloadDetailQuery), responses((status = 200, body = WorkloadItem))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<WorkloadPath>,
    QueryParams(query): QueryParams<WorkloadDetailQuery>,
) -> Result<Json<WorkloadItem>> {
    Ok(Json(service.workload(&caller, &path.rg, &path.workload_id, query.helps).await?))
}
