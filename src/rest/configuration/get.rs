//! `GET /resource-groups/{rg}/configuration`: the weights and queues as one document.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::GroupConfiguration;
use crate::rest::extract::PathParams;
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Every weight that is set and every queue, as one document that PUT takes. Projects and users are called by their names
/// where these are unique, else by their UUIDs; a queue shows the keys that differ from their defaults.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/configuration", operation_id = "get_configuration", tag = "Configuration",
    params(GroupPath), responses((status = 200, body = GroupConfiguration))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
) -> Result<Json<GroupConfiguration>> {
    let group = service.group_for_readers(&caller, &path.rg)?;
    let facts = group.whole()?;
    let configuration = || Ok(GroupConfiguration::of(&service, facts, &facts.weights()));
    Ok(Json(service.permits.scan(caller.client(), group.count_users(), configuration).await?))
}
