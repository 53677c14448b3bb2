//! `POST /resource-groups/{rg}/reclaim-plans`: plans which kernels have to end so that a workload can run now.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;

use crate::domain::reclaim::ReclaimPlan;
use crate::rest::extract::{JsonBody, PathParams, json_answer};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::plans::PlanRequest;
use crate::service::{Caller, Service};

/// Plans who gives back so that a workload can run now. Nothing is stored, no workload is evicted.
#[utoipa::path(
    post, path = "/resource-groups/{rg}/reclaim-plans", operation_id = "post_reclaim_plan", tag = "Queues",
    params(GroupPath), request_body = PlanRequest, responses((status = 200, body = ReclaimPlan))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    JsonBody(request): JsonBody<PlanRequest>,
) -> Result<Response> {
    let planned = service.plan_reclaim(&caller, &path.rg, request).await?;
    Ok(json_answer(&planned.plan)?)
}
