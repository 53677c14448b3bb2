//! `GET /resource-groups/{rg}/forecasts`: of how many waiting workloads the start is known, and how good forecasts were.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use crate::rest::extract::PathParams;
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::forecasts::answer::ForecastSummary;
use crate::service::{Caller, Service};

/// The forecasts of the group as a whole, and how good the last ones were. Each workload of `workloads` has its own.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/forecasts", operation_id = "get_forecasts", tag = "Workloads",
    params(GroupPath), responses((status = 200, body = ForecastSummary))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
) -> Result<Json<ForecastSummary>> {
    Ok(Json(service.forecast_summary(&caller, &path.rg).await?))
}
