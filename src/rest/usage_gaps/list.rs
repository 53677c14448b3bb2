//! `GET /resource-groups/{rg}/usage-gaps`: the gaps of a group, newest first.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::UsageGap;
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::list::{List, ListCursor, PageQuery};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Gaps of a group, newest first.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/usage-gaps", operation_id = "list_usage_gaps", tag = "Usage",
    params(GroupPath, PageQuery), responses((status = 200, body = List<UsageGap>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<List<UsageGap>>> {
    let cursor = ListCursor::new(Service::GAP_LIST, &path.rg);
    let window = cursor.window(query.limit, query.cursor.as_deref())?;
    Ok(Json(cursor.answer(service.gaps(&caller, &path.rg, &window).await?)))
}
