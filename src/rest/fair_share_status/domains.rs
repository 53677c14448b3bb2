use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::tiers::DomainStatus;
use crate::domain::filter::Filter;
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::list::{List, ListCursor, PageQuery};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::shares::{ShareField, ShareList, share_list_name};
use crate::service::{Caller, Service};

/// The ranking of the group's domains.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/fair-share-status/domains", operation_id = "list_domain_fair_shares",
    tag = "Fair share", params(GroupPath, PageQuery), responses((status = 200, body = List<DomainStatus>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<List<DomainStatus>>> {
    let cursor = ListCursor::new(share_list_name("domain", ShareField::Rank, false), &path.rg);
    let window = cursor.window(query.limit, query.cursor.as_deref())?;
    let list = ShareList { filter: Filter::everything(), field: ShareField::Rank, descending: false, window };
    let group = service.group(&caller, &path.rg)?;
    Ok(Json(cursor.answer(group.domain_shares(&list)?)))
}
