//! `GET /resource-groups/{rg}/capacity-days`: the known capacities of past days.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::CapacityDay;
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::list::{List, ListCursor, PageQuery};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::input::page::CursorKey;
use crate::service::{Caller, Service};

/// The capacity of every day of which one is known, by date.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/capacity-days", operation_id = "list_capacity_days", tag = "Agents",
    params(GroupPath, PageQuery), responses((status = 200, body = List<CapacityDay>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<List<CapacityDay>>> {
    let cursor = ListCursor::new("capacity-days", &path.rg);
    let window = cursor.window(query.limit, query.cursor.as_deref())?;
    let days = service.capacity_days(&caller, &path.rg).await?;
    Ok(Json(cursor.cut(&days, |(day, _)| vec![CursorKey::Text(day.to_string())], &window)))
}
