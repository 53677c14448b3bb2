//! `GET /audit-log`: changes, newest first.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;

use super::view::AuditEntryView;
use crate::rest::extract::QueryParams;
use crate::rest::list::{List, ListCursor};
use crate::rest::problem::Result;
use crate::service::audit_log::AuditQuery;
use crate::service::{Caller, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditLogParameters {
    /// Only changes of this group.
    pub resource_group: Option<String>,
    /// Only changes of this kind, like `weights.put`.
    pub action: Option<String>,
    /// Only changes by this one: the label of a key, or `cli:` and a user of the system.
    pub actor: Option<String>,
    /// Only changes of this, alone or among other things: what entries show as `target`, or one of `domain:NAME`, `project:NAME`,
    /// `user:NAME` (in all projects), `user:NAME/PROJECT`, `option:NAME` and `queue:NAME`. UUIDs may stand for the names of users
    /// and projects.
    #[param(example = "domain:research")]
    pub target: Option<String>,
    /// The beginning, an instant or a day.
    #[param(example = "2026-01-13")]
    pub from: Option<String>,
    /// The end, an instant or a day, which is then included.
    #[param(example = "2026-01-14")]
    pub to: Option<String>,
    /// Rows of a page, 1 to 1000; 100 by default.
    #[param(default = 100)]
    pub limit: Option<i64>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// Changes, newest first.
#[utoipa::path(
    get, path = "/audit-log", operation_id = "list_audit_log", tag = "Operations",
    params(AuditLogParameters), responses((status = 200, body = List<AuditEntryView>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    QueryParams(query): QueryParams<AuditLogParameters>,
) -> Result<Json<List<AuditEntryView>>> {
    let cursor = ListCursor::new(Service::AUDIT_LIST, "");
    let window = cursor.window(query.limit, query.cursor.as_deref())?;
    let AuditLogParameters { resource_group, action, actor, target, from, to, .. } = query;
    let filter = AuditQuery { resource_group, action, actor, target, from, to }.read(&service.people())?;
    let page = service.audit_log(&caller, &filter, &window).await?;
    let people = service.people();
    Ok(Json(cursor.answer(page.map(|entry| AuditEntryView::new(entry, &people)))))
}
