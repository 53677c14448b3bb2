//! `POST /resource-groups/{rg}/kernels`: takes kernels as an array, one object, or a stream of lines.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;

use super::batches::{Batches, Counting};
use super::rows;
use super::view::{IngestAnswer, KernelsBody};
use crate::rest::Limits;
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::ingest::incoming::KernelInput;
use crate::service::work::detached;
use crate::service::{Caller, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct IngestQuery {
    /// Whether the rows are only checked against what is known, as they would be taken; nothing is stored.
    #[serde(default)]
    pub dry_run: bool,
    /// Whether a project that a row calls by its `project` moves to the row's domain, as one that is called by its
    /// `project_id` does: for traces, which tell where projects were.
    #[serde(default)]
    pub moves_projects: bool,
}

/// Takes kernels: a JSON array, one object, or a stream of lines. Idempotent by `kernel_id`, in any
/// order, any number of times; good items are kept, each bad one gets a row in the answer.
#[utoipa::path(
    post, path = "/resource-groups/{rg}/kernels", operation_id = "post_kernels", tag = "Kernels",
    params(GroupPath, IngestQuery),
    request_body(content(
        (KernelsBody = "application/json", example = json!([{
            "kernel_id": "2b1f6c1e-9d57-4a1e-8b0e-6a3c0f1d2e4b", "session_id": "8e2f4a6b-1c3d-4e5f-8a9b-0c1d2e3f4a5b",
            "user_uuid": "6f0c8f3e-5b0c-4f0d-9a55-1d2f3c4b5a69", "project_id": "0b8a1c52-7c59-4d6f-8d1e-5b2a3c4d5e6f",
            "domain_name": "research", "occupied_slots": {"cpu": "4", "mem": "16Gi", "cuda.device": "1"},
            "status": "RUNNING", "started_at": "2026-01-13T10:00:00Z"
        }])),
        (KernelInput = "application/x-ndjson")
    )),
    responses((status = 200, body = IngestAnswer))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    State(limits): State<Limits>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<IngestQuery>,
    request: Request,
) -> Result<Json<IngestAnswer>> {
    let counting = Counting::of(request.headers())?;
    let batches = Batches::new(service, caller, path.rg, counting)?;
    let batches = if query.dry_run { batches.rehearsed() } else { batches };
    let batches = if query.moves_projects { batches.moving_projects() } else { batches };
    // A client that hangs up half-way still leaves a whole number of batches.
    let (answer, _) = detached(rows::take(batches, request, limits.bulk_bytes)).await?;
    Ok(Json(answer))
}
