//! `PUT /people-tree`: sets the weights of a group and the domains of its projects as a tree has them.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;

use super::view::PeopleTreeWritten;
use crate::api::people_tree::PeopleTree;
use crate::rest::extract::{JsonBody, QueryParams};
use crate::rest::problem::{ProblemView, Result};
use crate::service::{Caller, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PeopleTreeQuery {
    /// True to get the changes in the answer without making them.
    #[serde(default)]
    pub dry_run: bool,
}

/// Brings the tree of people of another scheduler: domains, projects and users come into being, projects move into their domains, and
/// the weights of the group follow the tree, all or nothing. Weights that an earlier tree has set and this one does not have are unset.
/// Values that an admin has set by hand stay, and the answer lists them.
#[utoipa::path(
    put, path = "/people-tree", operation_id = "put_people_tree", tag = "Connectors",
    params(PeopleTreeQuery), request_body = PeopleTree,
    responses(
        (status = 200, body = PeopleTreeWritten),
        (status = 404, description = "The resource group is not there.", body = ProblemView, content_type = "application/problem+json")
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    QueryParams(query): QueryParams<PeopleTreeQuery>,
    JsonBody(tree): JsonBody<PeopleTree>,
) -> Result<Json<PeopleTreeWritten>> {
    Ok(Json(service.put_people_tree(caller, tree, query.dry_run).await?.into()))
}
