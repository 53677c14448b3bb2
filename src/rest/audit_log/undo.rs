//! `POST /audit-log/{id}/undo`: restores the state before a change.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::input_warning::InputWarning;
use crate::rest::extract::{PathParams, media_type, read, read_body};
use crate::rest::paths::AuditPath;
use crate::rest::problem::Result;
use crate::service::undo::UndoneChange;
use crate::service::{Caller, Service};

/// Why a change is undone.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "the grant was not prolonged"}))]
pub struct UndoRequest {
    /// For the audit log.
    pub reason: Option<String>,
}

/// That a change was undone.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"audit_id": 8, "warnings": []}))]
pub struct UndoResult {
    /// The undo in the audit log, which can be undone as well.
    pub audit_id: i64,
    /// Likely mistakes in the options of the group since then; usage that does not count any more, because it was purged; and
    /// records that the next purge removes, because the undo has shortened the look-back.
    pub warnings: Vec<InputWarning>,
}

/// Makes the weights, options, queues and domains of projects that a change has set as they were before it, all or nothing. The
/// body may be left out.
#[utoipa::path(
    post, path = "/audit-log/{id}/undo", operation_id = "undo_change", tag = "Operations",
    params(AuditPath), request_body = Option<UndoRequest>,
    responses(
        (status = 200, body = UndoResult),
        (status = 409, description = "A value is not what the change left; `audit_id`, `actor` and `at` say by which entry. Or a queue that \
            was new has children now.",
            body = crate::rest::problem::ProblemView, content_type = "application/problem+json",
            example = json!({
                "type": "urn:fairshared:problem:changed_since", "title": "Conflict", "status": 409,
                "code": "changed_since", "detail": "the weight of research was changed since the entry 7 by me",
                "request_id": "0198f9d0-6c5c-7d7e-9c35-0d6a7c4f2b11", "audit_id": 8, "actor": "me",
                "at": "2026-01-13T10:05:00Z"
            }))
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<AuditPath>,
    request: Request,
) -> Result<Json<UndoResult>> {
    caller.require_admin()?;
    let kind = media_type(request.headers(), &["application/json"]);
    let bytes = read_body(request).await?;
    let body = if bytes.is_empty() { UndoRequest::default() } else { kind.and_then(|_| Ok(read(&bytes)?))? };
    let UndoneChange { audit_id, warnings } = service.undo(caller, path.id, body.reason).await?;
    Ok(Json(UndoResult { audit_id, warnings }))
}
