//! `POST /resource-groups/{rg}/kernels/snapshot`: takes all running kernels, and ends those that are missing.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::batches::IngestBatches;
use super::row_counting::RowCounting;
use super::rows;
use crate::api::kernels::{IngestAnswer, KernelsBody};
use crate::domain::time::Timestamp;
use crate::engine::ingest::inferred::{MAX_LISTED_ENDS, RunningSnapshot};
use crate::engine::work::run_to_completion;
use crate::rest::RequestLimits;
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::paths::GroupPath;
use crate::rest::problem::{ProblemView, Result};
use crate::service::{Caller, Service};

/// When a kernel ended that is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndedAt {
    #[default]
    TakenAt,
    /// When it was last reported.
    LastSeen,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SnapshotQuery {
    /// When the scheduler listed what runs; at most 60 s ahead of the server's clock, not before the last snapshot.
    #[param(value_type = String, format = DateTime, example = "2026-01-13T12:00:00Z")]
    pub taken_at: Timestamp,
    /// When kernels ended that are missing; `taken_at` by default.
    #[serde(default)]
    #[param(inline)]
    pub ended_at: EndedAt,
    /// True if it may end more than half of the running kernels, or be empty.
    #[serde(default)]
    pub force: bool,
}

/// The result of a snapshot.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "accepted": 1, "changed": 1, "rejected": 0, "errors": [], "ended": 1, "ended_ids": ["2b1f6c1e-9d57-4a1e-8b0e-6a3c0f1d2e4b"]
}))]
pub struct SnapshotAnswer {
    #[serde(flatten)]
    pub rows: IngestAnswer,
    /// Kernels that ran here and are missing in the snapshot.
    pub ended: u64,
    /// The first 1000 of them, by id.
    pub ended_ids: Vec<Uuid>,
}

/// Takes all kernels that run at one moment, as `POST .../kernels` does; kernels of the group that run here, started
/// before and are missing end. A row that is refused counts as present, and a body that breaks off ends nothing.
#[utoipa::path(
    post, path = "/resource-groups/{rg}/kernels/snapshot", operation_id = "post_kernel_snapshot", tag = "Kernels",
    params(GroupPath, SnapshotQuery),
    request_body(content = KernelsBody, description = "JSON as below, or the same objects as lines (NDJSON, `application/x-ndjson`)."),
    responses(
        (status = 200, body = SnapshotAnswer),
        (
            status = 409, description = "It is older than the last one, or ends so much that it needs `force`.",
            body = ProblemView, content_type = "application/problem+json",
            example = json!({
                "type": "urn:fairshared:problem:confirmation_needed", "title": "Conflict", "status": 409,
                "code": "confirmation_needed",
                "detail": "the snapshot would end 15 of 15 that run; nothing was ended; force=true ends them",
                "request_id": "0198f9d0-6c5c-7d7e-9c35-0d6a7c4f2b11",
                "counts": {"present": 0, "running": 15, "would_end": 15}
            })
        )
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    State(limits): State<RequestLimits>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<SnapshotQuery>,
    request: Request,
) -> Result<Json<SnapshotAnswer>> {
    let SnapshotQuery { taken_at, ended_at, force } = query;
    let counting = RowCounting::of(request.headers())?;
    service.check_snapshot(&caller, &path.rg, taken_at).await?;
    let batches =
        IngestBatches::new(Arc::clone(&service), caller.clone(), path.rg.clone(), counting)?.of_snapshot(taken_at);
    let snapshot = RunningSnapshot { taken_at, at_last_seen: ended_at == EndedAt::LastSeen, force };
    let answer = run_to_completion(async move {
        let (rows, present) = rows::take_rows(batches, request, limits.bulk_bytes).await?;
        let ended = service.end_missing(caller, &path.rg, snapshot, present.all()?).await?;
        let ended_ids = ended.iter().take(MAX_LISTED_ENDS).map(|id| id.0).collect();
        Ok(SnapshotAnswer { rows, ended: ended.len() as u64, ended_ids })
    });
    Ok(Json(answer.await?))
}
