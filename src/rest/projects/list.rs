//! `GET /projects`: the projects of the server, by name.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;

use super::view::ProjectView;
use crate::rest::extract::QueryParams;
use crate::rest::list::{List, ListCursor};
use crate::rest::problem::Result;
use crate::service::people::{PeopleFilter, PeopleList};
use crate::service::{Caller, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ProjectQuery {
    /// Only projects that are in this domain.
    pub domain_name: Option<String>,
    /// `true`: those that are archived, themselves or with their domain, instead of those that are not.
    pub archived: Option<bool>,
    /// A part of the name or the display name, in either case.
    pub search: Option<String>,
    /// Rows of a page, 1 to 1000; 100 by default.
    #[param(default = 100)]
    pub limit: Option<i64>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// The projects of the server, by name, those without one by id.
#[utoipa::path(
    get, path = "/projects", operation_id = "list_projects", tag = "People",
    params(ProjectQuery), responses((status = 200, body = List<ProjectView>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    QueryParams(query): QueryParams<ProjectQuery>,
) -> Result<Json<List<ProjectView>>> {
    let cursor = ListCursor::new(Service::PROJECT_LIST, query.domain_name.as_deref().unwrap_or_default());
    let window = cursor.window(query.limit, query.cursor.as_deref())?;
    let filter = PeopleFilter { archived: query.archived.unwrap_or(false), search: query.search };
    let list = PeopleList { filter, window };
    Ok(Json(cursor.answer(service.projects(&caller, query.domain_name.as_deref(), &list).await?)))
}
