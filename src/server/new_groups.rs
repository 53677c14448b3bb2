//! Requests for groups that another server has made a moment ago: the group is looked for before the request is refused.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::Request;
use axum::http::Method;
use futures::FutureExt;
use percent_encoding::percent_decode_str;
use tower::service_fn;

use crate::rest::Answers;
use crate::service::{Caller, Service};

/// Has the database read before a request goes on whose path names a group that this server does not know.
pub fn look_for_new_groups(service: Arc<Service>, mut inner: impl Answers) -> impl Answers {
    service_fn(move |request: Request| {
        if !names_new_group(&service, &request) {
            return inner.call(request).left_future();
        }
        let (service, mut inner) = (Arc::clone(&service), inner.clone());
        let looking = async move {
            service.publish_new_groups().await;
            inner.call(request).await
        };
        // Few requests need it, so that it takes no room in the others.
        looking.boxed().right_future()
    })
}

/// A PUT of the group itself makes it, and looks in the database anyway.
fn names_new_group(service: &Service, request: &Request) -> bool {
    let path = request.uri().path();
    if request.method() == Method::PUT && path.split('/').count() == 3 {
        return false;
    }
    let (caller, group) = (request.extensions().get::<Caller>(), group_in_path(path));
    caller.zip(group).is_some_and(|(caller, group)| service.may_be_new(caller, &group))
}

/// The resource group that a path is about.
pub fn group_in_path(path: &str) -> Option<Cow<'_, str>> {
    let name = path.strip_prefix("/resource-groups/")?.split('/').next().filter(|name| !name.is_empty())?;
    percent_decode_str(name).decode_utf8().ok()
}
