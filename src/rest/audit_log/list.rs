use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;

use super::view::AuditEntryView;
use crate::rest::extract::QueryParams;
use crate::rest::list::{List, ListCursor};
use crate::rest::problem::Result;
use crate::service::audit_log::AuditFilter;
use crate::service::{Caller, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// Only changes of this group.
    pub resource_group: Option<String>,
    /// Only changes of this kind, like `weights.put`.
    pub action: Option<String>,
    /// Rows of a page, 1 to 1000; 100 unless given.
    #[param(default = 100)]
    pub limit: Option<i64>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// Changes, newest first.
#[utoipa::path(
    get, path = "/audit-log", operation_id = "list_audit_log", tag = "Operations",
    params(AuditQuery), responses((status = 200, body = List<AuditEntryView>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    QueryParams(query): QueryParams<AuditQuery>,
) -> Result<Json<List<AuditEntryView>>> {
    let cursor = ListCursor::new(Service::AUDIT_LIST, "");
    let window = cursor.window(query.limit, query.cursor.as_deref())?;
    let filter = AuditFilter { resource_group: query.resource_group, action: query.action, groups: None };
    Ok(Json(cursor.answer(service.audit_log(&caller, &filter, &window).await?)))
}
