//! `GET /resource-groups/{rg}/queues`: the queues of a group by name.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};

use crate::domain::queues::QueueConfig;
use crate::rest::etag::{SeenTags, fresh_or};
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::list::{List, ListCursor, PageQuery};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::input::page::{CursorKey, cut_window};
use crate::service::{Caller, Service};

const LIST: &str = "queues";

/// The queues of a resource group by name.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/queues", operation_id = "list_queues", tag = "Queues",
    params(GroupPath, PageQuery, ("If-None-Match" = Option<String>, Header, description = "An `ETag` seen before.")),
    responses(
        (status = 200, body = List<QueueConfig>, headers(("ETag" = String, description = "For `If-None-Match`."))),
        (status = 304, description = "Unchanged since that `ETag`.")
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<PageQuery>,
    seen: SeenTags,
) -> Result<Response> {
    let group = service.group_for_readers(&caller, &path.rg)?;
    let cursor = ListCursor::new(LIST, path.rg);
    let window = cursor.window(query.limit, query.cursor.as_deref())?;
    let rows: Vec<&Arc<QueueConfig>> = group.whole()?.queues.values().collect();
    let page = cut_window(LIST, &rows, |q| vec![CursorKey::Text(q.name.clone())], &window).map(Arc::clone);
    let answer: List<Arc<QueueConfig>> = cursor.answer(page);
    Ok(fresh_or(&seen, &group.etag(), || Json(answer).into_response()))
}
