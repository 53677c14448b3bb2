//! `GET /users`: the users of the server, by name.

use std::sync::Arc;

use super::view::UserView;
use crate::rest::extract::QueryParams;
use crate::rest::list::{List, ListCursor};
use crate::rest::paths::PeopleQuery;
use crate::rest::problem::Result;
use crate::service::people::PeopleList;
use crate::service::{Caller, Service};
use axum::extract::State;
use axum::{Extension, Json};

/// The users of the server, by name, those without one by id.
#[utoipa::path(
    get, path = "/users", operation_id = "list_users", tag = "People",
    params(PeopleQuery), responses((status = 200, body = List<UserView>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    QueryParams(query): QueryParams<PeopleQuery>,
) -> Result<Json<List<UserView>>> {
    let cursor = ListCursor::new(Service::USER_LIST, "");
    let window = cursor.window(query.limit, query.cursor.as_deref())?;
    let list = PeopleList { filter: query.into(), window };
    Ok(Json(cursor.answer(service.users(&caller, &list).await?)))
}
