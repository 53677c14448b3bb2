//! `GET /domains`: the domains of the server, by name.

use std::sync::Arc;

use super::view::DomainView;
use crate::rest::extract::QueryParams;
use crate::rest::list::{List, ListCursor};
use crate::rest::paths::PeopleQuery;
use crate::rest::problem::Result;
use crate::service::people::PeopleList;
use crate::service::{Caller, Service};
use axum::extract::State;
use axum::{Extension, Json};

/// The domains of the server, by name.
#[utoipa::path(
    get, path = "/domains", operation_id = "list_domains", tag = "People",
    params(PeopleQuery), responses((status = 200, body = List<DomainView>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    QueryParams(query): QueryParams<PeopleQuery>,
) -> Result<Json<List<DomainView>>> {
    let cursor = ListCursor::new(Service::DOMAIN_LIST, "");
    let window = cursor.window(query.limit, query.cursor.as_deref())?;
    let list = PeopleList { filter: query.into(), window };
    Ok(Json(cursor.answer(service.domains(&caller, &list)?)))
}
