//! `POST /division/simulate`: the division for the queues in the request.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;

use crate::domain::division::{DivisionReport, DivisionSimulation};
use crate::rest::extract::{json_answer, media_type, read_body};
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Divides what the request brings along; nothing is stored. Every role may.
#[utoipa::path(
    post, path = "/division/simulate", operation_id = "simulate_division", tag = "Division",
    request_body = DivisionSimulation, responses((status = 200, body = DivisionReport))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response> {
    media_type(request.headers(), &["application/json"])?;
    let body = read_body(request).await?;
    Ok(service.simulate::<DivisionSimulation, _, _>(&caller, || body, json_answer).await?)
}
