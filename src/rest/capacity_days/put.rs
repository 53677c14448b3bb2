//! `PUT /resource-groups/{rg}/capacity-days`: sets the capacities of past days.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::{CapacitiesGiven, CapacityDay, MAX_DAYS, days};
use crate::domain::reading::AtMost;
use crate::rest::extract::{JsonBody, PathParams};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Gives days of the past their capacities, at most 5,000 at once; factors follow. A day of which the server saw the agents
/// itself keeps what it saw.
#[utoipa::path(
    put, path = "/resource-groups/{rg}/capacity-days", operation_id = "put_capacity_days", tag = "Agents",
    params(GroupPath), request_body = Vec<CapacityDay>, responses((status = 200, body = CapacitiesGiven))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    JsonBody(AtMost(body)): JsonBody<AtMost<CapacityDay, MAX_DAYS>>,
) -> Result<Json<CapacitiesGiven>> {
    caller.require_admin()?;
    let today = service.clock().now().day();
    let changed = service.give_capacities(caller, &path.rg, days(body, today)?).await?;
    Ok(Json(CapacitiesGiven { changed }))
}
