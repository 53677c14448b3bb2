//! `GET /people-tree`: the tree of people of a group as it is.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::rest::extract::QueryParams;
use crate::rest::problem::{ProblemView, Result};
use crate::service::people_tree::current::CurrentPeopleTree;
use crate::service::{Caller, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TreeQuery {
    /// Name of the resource group.
    #[param(example = "gpu-cluster", min_length = 1, max_length = 64)]
    pub resource_group: String,
}

/// The tree of people of a group as it is: its domains, projects and users with their weights, and what an admin has pinned, so that
/// no tree changes it. The answer can be sent back with PUT.
#[utoipa::path(
    get, path = "/people-tree", operation_id = "get_people_tree", tag = "Connectors", params(TreeQuery),
    responses(
        (status = 200, body = CurrentPeopleTree),
        (status = 404, description = "The resource group is not there.", body = ProblemView, content_type = "application/problem+json")
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    QueryParams(query): QueryParams<TreeQuery>,
) -> Result<Json<CurrentPeopleTree>> {
    Ok(Json(service.people_tree(&caller, &query.resource_group).await?))
}
