//! `GET /whoami`: the key of the request, and its rights.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::who_am_i;
use crate::api::key_rights::WhoAmI;
use crate::service::{Caller, Service};

/// The key of this request and its rights; for every role.
#[utoipa::path(
    get, path = "/whoami", operation_id = "whoami", tag = "Access", responses((status = 200, body = WhoAmI))
)]
pub async fn handle(State(service): State<Arc<Service>>, Extension(caller): Extension<Caller>) -> Json<WhoAmI> {
    Json(who_am_i(caller, &service.people()))
}
