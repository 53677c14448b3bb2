//! `GET /connectors`: the connectors of other schedulers, by cluster and group.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use crate::api::connector_round::ConnectorStatus;
use crate::rest::extract::QueryParams;
use crate::rest::list::{List, ListCursor, PageQuery};
use crate::rest::problem::Result;
use crate::service::input::page::CursorKey;
use crate::service::{Caller, Service};

/// The connectors of the resource groups that the key reaches, by cluster and group, each with its last round.
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
    let connectors = service.connectors(&caller).await?;
    let key = |connector: &ConnectorStatus| {
        vec![CursorKey::Text(connector.cluster.clone()), CursorKey::Text(connector.resource_group.clone())]
    };
    Ok(Json(cursor.cut(&connectors, key, &window)))
}
