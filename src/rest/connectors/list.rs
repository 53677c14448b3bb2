//! `GET /connectors`: the connectors of other schedulers, by cluster.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use crate::rest::extract::QueryParams;
use crate::rest::list::{List, ListCursor, PageQuery};
use crate::rest::problem::Result;
use crate::service::connectors::ConnectorStatus;
use crate::service::input::page::CursorKey;
use crate::service::{Caller, Service};

/// The connectors of the resource groups that the key reaches, by cluster, each with its last round.
#[utoipa::path(
    get, path = "/connectors", operation_id = "list_connectors", tag = "Connectors",
    params(PageQuery), responses((status = 200, body = List<ConnectorStatus>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<List<ConnectorStatus>>> {
    let cursor = ListCursor::new("connectors", "");
    let window = cursor.window(query.limit, query.cursor.as_deref())?;
    let mut connectors = service.connectors(&caller).await?;
    // By bytes, as cursors compare names: the order of the database may be different.
    connectors.sort_by(|a, b| a.cluster.cmp(&b.cluster));
    Ok(Json(cursor.cut(&connectors, |connector| vec![CursorKey::Text(connector.cluster.clone())], &window)))
}
