//! `GET /resource-groups/{rg}/fair-share-status/domains`: the ranking of the group's domains.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::tiers::{DomainStatus, Ranking, page};
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::list::PageQuery;
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// The ranking of the group's domains.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/fair-share-status/domains", operation_id = "list_domain_fair_shares",
    tag = "Fair share", params(GroupPath, PageQuery), responses((status = 200, body = Ranking<DomainStatus>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<Ranking<DomainStatus>>> {
    let group = service.group(&caller, &path.rg)?;
    let (of, window) = (("domain", group.count_domains()), (query.limit, query.cursor.as_deref()));
    let rows = page(&service, &group, of, window, |list| Ok(group.domain_shares(list)?.page(&list.window))).await?;
    let before = service.previous_ranks(&group).await;
    Ok(Json(Ranking::new(&group, rows.map(|row| DomainStatus::new(&group, &row, &before)))))
}
