//! `POST /resource-groups/{rg}/cycle-plans`: what would start in the group now, what has to be evicted for it, and why the rest
//! waits.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;

use crate::domain::cycle::CycleAnswer;
use crate::rest::extract::{PathParams, json_answer, media_type, read_body};
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
    request: Request,
) -> Result<Response> {
    caller.require_scheduler()?;
    media_type(request.headers(), &["application/json"])?;
    let body = read_body(request).await?;
    Ok(service.plan_cycle(&caller, &path.rg, || body, json_answer).await?)
}
