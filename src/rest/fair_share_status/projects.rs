//! `GET /resource-groups/{rg}/fair-share-status/projects`: the ranking of the group's projects.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::tiers::{ProjectStatus, Ranking, page};
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::list::PageQuery;
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// The ranking of the group's projects, each in its domain.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/fair-share-status/projects", operation_id = "list_project_fair_shares",
    tag = "Fair share", params(GroupPath, PageQuery), responses((status = 200, body = Ranking<ProjectStatus>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<Ranking<ProjectStatus>>> {
    let group = service.group(&caller, &path.rg)?;
    let (of, window) = (("project", group.count_projects()), (query.limit, query.cursor.as_deref()));
    let rows = page(&service, &group, of, window, |list| Ok(group.project_shares(list)?.page(&list.window))).await?;
    let before = service.previous_ranks(&group).await;
    Ok(Json(Ranking::new(&group, rows.map(|row| ProjectStatus::new(&group, &row, &before)))))
}
