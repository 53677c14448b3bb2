//! `POST /reclaim/simulate`: a plan for the queues and kernels in the request.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;

use crate::domain::reclaim::{Plan, Simulation};
use crate::rest::extract::{json_answer, media_type, read_body};
use crate::rest::problem::Result;
use crate::service::{Caller, Service, simulate};

/// Plans over what the request brings along; nothing is stored, no workload is evicted. Every role may.
#[utoipa::path(
    post, path = "/reclaim/simulate", operation_id = "simulate_reclaim", tag = "Division",
    request_body = Simulation, responses((status = 200, body = Plan))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response> {
    media_type(request.headers(), &["application/json"])?;
    let body = read_body(request).await?;
    let now = service.clock().now();
    let answer = || {
        let _memory = service.memory().reserve_for_simulation(body.len())?;
        json_answer(&simulate::reclaim(&body, now)?)
    };
    Ok(service.permits.run(caller.key_id, answer).await?)
}
