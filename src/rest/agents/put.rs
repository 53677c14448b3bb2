//! `PUT /resource-groups/{rg}/agents/{agent_id}`: creates or replaces an agent.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};

use super::view::{AgentBody, AgentView};
use crate::rest::extract::{JsonBody, PathParams};
use crate::rest::paths::{AgentPath, same_as_path};
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Creates or replaces an agent; the group's capacity follows at once.
#[utoipa::path(
    put, path = "/resource-groups/{rg}/agents/{agent_id}", operation_id = "put_agent", tag = "Agents",
    params(AgentPath), request_body = AgentBody,
    responses((status = 200, description = "Replaced.", body = AgentView), (status = 201, description = "Created.", body = AgentView))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<AgentPath>,
    JsonBody(mut body): JsonBody<AgentBody>,
) -> Result<(StatusCode, Json<AgentView>)> {
    same_as_path("/agent_id", body.agent_id.as_deref(), &path.agent_id)?;
    let reason = body.reason.take();
    let (agent, is_new) = service.put_agent(caller, path.rg, path.agent_id, body.into(), reason).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(agent.into())))
}
