//! `GET /resource-groups/{rg}/agents`: the agents of a group by id.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use crate::api::agents::AgentView;
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::list::{List, ListCursor, PageQuery};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::input::page::CursorKey;
use crate::service::{Caller, Service};

/// Agents of a group by id.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/agents", operation_id = "list_agents", tag = "Agents",
    params(GroupPath, PageQuery), responses((status = 200, body = List<AgentView>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<List<AgentView>>> {
    let cursor = ListCursor::new("agents", &path.rg);
    let window = cursor.window(query.limit, query.cursor.as_deref())?;
    let mut agents = service.agents(&caller, &path.rg).await?;
    agents.sort_by(|a, b| a.agent_id.cmp(&b.agent_id));
    Ok(Json(cursor.cut(&agents, |a| vec![CursorKey::Text(a.agent_id.clone())], &window)))
}
