//! `POST /resource-groups/{rg}/kernels`: takes kernels from an array, one object, or a stream of lines.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;

use super::batches::IngestBatches;
use super::row_counting::RowCounting;
use super::rows;
use crate::api::kernels::{IngestAnswer, KernelsBody};
use crate::engine::work::run_to_completion;
use crate::rest::RequestLimits;
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct IngestQuery {
    /// True to only check the rows against what is known, as they would be taken; nothing is stored.
    #[serde(default)]
    pub dry_run: bool,
    /// True to move a project that a row names by `project` to the row's domain, as one that is named by
    /// `project_id` does. It is meant for traces, which say where projects were.
    #[serde(default)]
    pub moves_projects: bool,
}

/// Takes kernels: a JSON array, one object, or a stream of lines. Idempotent by `kernel_id`, in any
/// order, any number of times; good items are kept, each bad one gets a row in the answer.
#[utoipa::path(
    post, path = "/resource-groups/{rg}/kernels", operation_id = "post_kernels", tag = "Kernels",
    params(GroupPath, IngestQuery),
    request_body(content = KernelsBody, description = "JSON as below, or the same objects as lines (NDJSON, `application/x-ndjson`)."),
    responses((status = 200, body = IngestAnswer))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    State(limits): State<RequestLimits>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<IngestQuery>,
    request: Request,
) -> Result<Json<IngestAnswer>> {
    let counting = RowCounting::of(request.headers())?;
    let batches = IngestBatches::new(service, caller, path.rg, counting)?;
    let batches = if query.dry_run { batches.with_rehearsal() } else { batches };
    let batches = if query.moves_projects { batches.moving_projects() } else { batches };
    // In a task of its own, so that a client that disconnects leaves no batch half written.
    let (answer, _) = run_to_completion(rows::take_rows(batches, request, limits.bulk_bytes)).await?;
    Ok(Json(answer))
}
