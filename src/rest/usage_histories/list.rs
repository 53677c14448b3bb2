//! `GET /resource-groups/{rg}/usage-histories`: the histories of a group by name.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::UsageHistory;
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::list::{List, ListCursor, PageQuery};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::input::page::CursorKey;
use crate::service::{Caller, Service};

/// The histories of a group by name.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/usage-histories", operation_id = "list_usage_histories", tag = "Usage",
    params(GroupPath, PageQuery), responses((status = 200, body = List<UsageHistory>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<List<UsageHistory>>> {
    let cursor = ListCursor::new("usage-histories", &path.rg);
    let window = cursor.window(query.limit, query.cursor.as_deref())?;
    let mut histories = service.usage_histories(&caller, &path.rg).await?;
    // By bytes, as cursors compare names: the order of the database may be different.
    histories.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Json(cursor.cut(&histories, |history| vec![CursorKey::Text(history.name.clone())], &window)))
}
