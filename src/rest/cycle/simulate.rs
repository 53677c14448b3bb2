//! `POST /cycle/simulate`: a scheduling cycle over the snapshot in the request.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;

use crate::domain::cycle::{CycleAnswer, CycleSimulation};
use crate::rest::extract::{json_answer, media_type, read_body};
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Decides what would start now over what the request brings along; nothing is stored, started or evicted. Every role may.
#[utoipa::path(
    post, path = "/cycle/simulate", operation_id = "simulate_cycle", tag = "Division",
    request_body = CycleSimulation, responses((status = 200, body = CycleAnswer))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response> {
    media_type(request.headers(), &["application/json"])?;
    let body = read_body(request).await?;
    Ok(service.simulate::<CycleSimulation, _, _>(&caller, || body, json_answer).await?)
}
