//! Query parameters of endpoints that take none are refused, so that none seems to have been heeded.

use std::collections::HashSet;
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::{OpenApi, PathItem, RefOr};

use super::problem::Problem;
use crate::service::Error;

/// The endpoints that take query parameters; these look at them themselves.
pub struct Takers(HashSet<(Method, String)>);

impl Takers {
    pub fn of(api: &OpenApi) -> Arc<Self> {
        let takes = |operation: &Operation| {
            let query = |parameter: &RefOr<Parameter>| matches!(parameter, RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Query);
            operation.parameters.iter().flatten().any(query)
        };
        let operations = |item: &PathItem| {
            let PathItem { get, put, post, delete, patch, .. } = item;
            let all = [
                (Method::GET, get),
                (Method::PUT, put),
                (Method::POST, post),
                (Method::DELETE, delete),
                (Method::PATCH, patch),
            ];
            all.map(|(method, operation)| (method, operation.as_ref().is_some_and(takes)))
        };
        let named = api.paths.paths.iter().flat_map(|(path, item)| {
            operations(item).into_iter().filter(|(_, takes)| *takes).map(|(method, _)| (method, path.clone()))
        });
        Arc::new(Self(named.collect()))
    }
}

pub async fn refuse(State(takers): State<Arc<Takers>>, path: MatchedPath, request: Request, next: Next) -> Response {
    let query = request.uri().query().unwrap_or_default();
    let Some((name, _)) = form_urlencoded::parse(query.as_bytes()).next() else { return next.run(request).await };
    // HEAD is answered as GET is.
    let method = if request.method() == Method::HEAD { Method::GET } else { request.method().clone() };
    if takers.0.contains(&(method, path.as_str().to_owned())) {
        return next.run(request).await;
    }
    let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
    let said = "is not known here; this endpoint takes no query parameters";
    Problem::from(Error::about(pointer, "unknown_field", said)).into_response()
}
