//! `POST /reclaim/simulate`: a plan for the queues and kernels in the request.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;

use crate::domain::reclaim::{ReclaimPlan, ReclaimSimulation};
use crate::rest::extract::{json_answer, media_type, read_body};
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Plans over what the request brings along; nothing is stored, no workload is evicted. Every role may.
#[utoipa::path(
    post, path = "/reclaim/simulate", operation_id = "simulate_reclaim", tag = "Division",
    request_body = ReclaimSimulation, responses((status = 200, body = ReclaimPlan))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response> {
    media_type(request.headers(), &["application/json"])?;
    let body = read_body(request).await?;
    Ok(service.simulate::<ReclaimSimulation, _, _>(&caller, || body, json_answer).await?)
}
