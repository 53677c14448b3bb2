//! `PUT /resource-groups/{rg}/agents/{agent_id}`: creates or replaces an agent.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};

use crate::api::agents::{AgentBody, AgentWritten};
use crate::rest::extract::{JsonBody, PathParams};
use crate::rest::paths::{AgentPath, same_as_path};
use crate::rest::problem::Result;
use crate::service::agents::name_warnings;
use crate::service::{Caller, Service};

/// Creates or replaces an agent; the group's capacity follows at once.
#[utoipa::path(
    put, path = "/resource-groups/{rg}/agents/{agent_id}", operation_id = "put_agent", tag = "Agents",
    params(AgentPath), request_body = AgentBody,
    responses((status = 200, description = "Replaced.", body = AgentWritten), (status = 201, description = "Created.", body = AgentWritten))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<AgentPath>,
    JsonBody(mut body): JsonBody<AgentBody>,
) -> Result<(StatusCode, Json<AgentWritten>)> {
    same_as_path("/agent_id", body.agent_id.as_deref(), &path.agent_id)?;
    let reason = body.reason.take();
    let (agent, is_new) = service.put_agent(caller, path.rg, path.agent_id, body.into(), reason).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let warnings = name_warnings([("/agent_id".to_owned(), &*agent.agent_id)].into_iter());
    Ok((status, Json(AgentWritten { agent: agent.into(), warnings })))
}
