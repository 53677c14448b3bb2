//! `PUT /resource-groups/{rg}/agents`: creates and replaces many agents, all or nothing.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::{agent_specs, agent_warnings};
use crate::api::agents::{AgentsBody, AgentsWritten};
use crate::rest::extract::{JsonBody, PathParams};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Creates and replaces agents, all or none; those that are not named stay. The group's capacity follows at once.
#[utoipa::path(
    put, path = "/resource-groups/{rg}/agents", operation_id = "put_agents", tag = "Agents",
    params(GroupPath), request_body = AgentsBody, responses((status = 200, body = AgentsWritten))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    JsonBody(mut body): JsonBody<AgentsBody>,
) -> Result<Json<AgentsWritten>> {
    let reason = body.reason.take();
    let warnings = agent_warnings(&body);
    let specs = agent_specs(body)?;
    let written = specs.len() as u64;
    service.put_agents(caller, path.rg, specs, reason).await?;
    Ok(Json(AgentsWritten { written, warnings }))
}
