//! `DELETE /resource-groups/{rg}/agents/{agent_id}`: removes an agent.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;

use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::paths::{AgentPath, ReasonQuery};
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Removes an agent; the group's capacity follows at once.
#[utoipa::path(
    delete, path = "/resource-groups/{rg}/agents/{agent_id}", operation_id = "delete_agent", tag = "Agents",
    params(AgentPath, ReasonQuery), responses((status = 204, description = "Removed."))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<AgentPath>,
    QueryParams(query): QueryParams<ReasonQuery>,
) -> Result<StatusCode> {
    service.delete_agent(caller, path.rg, path.agent_id, query.reason).await?;
    Ok(StatusCode::NO_CONTENT)
}
