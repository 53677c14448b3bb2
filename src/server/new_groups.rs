//! Requests for a group that another server has just created: this server reads the group from the database before it
//! refuses such a request.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use percent_encoding::percent_decode_str;

use crate::service::{Caller, Service};

/// Reads groups from the database before a request whose path names a group that is not in memory.
pub async fn look_for_new_groups(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    if names_new_group(&service, &request) {
        service.publish_new_groups().await;
    }
    next.run(request).await
}

/// True if the path names a group that is not in memory. A PUT of the group itself is excepted: it creates the group,
/// and reads the database for that anyway.
fn names_new_group(service: &Service, request: &Request) -> bool {
    let path = request.uri().path();
    if request.method() == Method::PUT && path.split('/').count() == 3 {
        return false;
    }
    let (caller, group) = (request.extensions().get::<Caller>(), group_in_path(path));
    caller.zip(group).is_some_and(|(caller, group)| service.may_be_new(caller, &group))
}

/// The resource group in a path.
pub fn group_in_path(path: &str) -> Option<Cow<'_, str>> {
    let name = path.strip_prefix("/resource-groups/")?.split('/').next().filter(|name| !name.is_empty())?;
    percent_decode_str(name).decode_utf8().ok()
}
