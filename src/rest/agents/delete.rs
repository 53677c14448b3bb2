use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;

use crate::rest::extract::PathParams;
use crate::rest::paths::AgentPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Removes an agent; the group's capacity follows at once.
#[utoipa::path(
    delete, path = "/resource-groups/{rg}/agents/{agent_id}", operation_id = "delete_agent", tag = "Agents",
    params(AgentPath), responses((status = 204, description = "Removed."))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<AgentPath>,
) -> Result<StatusCode> {
    service.delete_agent(caller, path.rg, path.agent_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
