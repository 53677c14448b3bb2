//! `POST /resource-groups/{rg}/cycle-plans`: what would start in the group now, what has to be evicted for it, and why the rest
//! waits.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;

use crate::domain::cycle::CycleAnswer;
use crate::rest::extract::{JsonBody, PathParams, json_answer};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::cycle_plans::CyclePlanRequest;
use crate::service::{Caller, Service};

/// Decides what would start in the group now. Nothing is stored, started or evicted: the scheduler that asks does that, and reports it.
#[utoipa::path(
    post, path = "/resource-groups/{rg}/cycle-plans", operation_id = "post_cycle_plan", tag = "Queues",
    params(GroupPath), request_body = CyclePlanRequest, responses((status = 200, body = CycleAnswer))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    JsonBody(request): JsonBody<CyclePlanRequest>,
) -> Result<Response> {
    Ok(json_answer(&service.plan_cycle(&caller, &path.rg, request).await?)?)
}
