//! `GET /resource-groups/{rg}/division`: the current division of a group's capacity among its queues.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::view::DivisionView;
use crate::rest::etag::{SeenTags, fresh_or};
use crate::rest::extract::{PathParams, QueryParams, json_answer, json_response};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DivisionQuery {
    /// True to get each step that gave a queue something.
    #[serde(default)]
    pub explain: bool,
}

/// The amounts that every queue of a resource group deserves now, by the group's option `division`.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/division", operation_id = "get_division", tag = "Queues",
    params(GroupPath, DivisionQuery, ("If-None-Match" = Option<String>, Header, description = "An `ETag` seen before.")),
    responses(
        (status = 200, body = DivisionView, headers(("ETag" = String, description = "For `If-None-Match`; not with `explain`."))),
        (status = 304, description = "Unchanged since that `ETag`.")
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<DivisionQuery>,
    seen: SeenTags,
) -> Result<Response> {
    let found = service.division(&caller, &path.rg, query.explain).await?;
    let view = || DivisionView::new(&found);
    if query.explain {
        return Ok(json_answer(&view())?);
    }
    let answers = found.group.answers()?;
    Ok(fresh_or(&seen, &found.group.etag(), || json_response(answers.division.json(view))))
}
