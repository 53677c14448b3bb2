//! Query parameters of endpoints that take none are refused, so that none seems to have been heeded.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::MatchedPath;
use axum::http::{Method, Request, Response};
use axum::response::IntoResponse;
use tower_http::validate_request::ValidateRequest;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::{OpenApi, PathItem, RefOr};

use super::problem::Problem;
use crate::service::Error;

/// The methods of each path that take query parameters; these endpoints look at them themselves.
#[derive(Clone)]
pub struct Takers(Arc<HashMap<String, Vec<Method>>>);

impl Takers {
    pub fn of(api: &OpenApi) -> Self {
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
        let methods = |item: &PathItem| {
            operations(item).into_iter().filter(|(_, takes)| *takes).map(|(method, _)| method).collect()
        };
        Self(Arc::new(api.paths.paths.iter().map(|(path, item)| (path.clone(), methods(item))).collect()))
    }

    fn takes(&self, method: &Method, path: &str) -> bool {
        // HEAD is answered as GET is.
        let method = if method == Method::HEAD { &Method::GET } else { method };
        self.0.get(path).is_some_and(|methods| methods.contains(method))
    }
}

impl<B> ValidateRequest<B> for Takers {
    type ResponseBody = Body;

    fn validate(&mut self, request: &mut Request<B>) -> Result<(), Response<Body>> {
        let query = request.uri().query().unwrap_or_default();
        let Some((name, _)) = form_urlencoded::parse(query.as_bytes()).next() else { return Ok(()) };
        let path = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
        if self.takes(request.method(), path) {
            return Ok(());
        }
        let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        let said = "is not known here; this endpoint takes no query parameters";
        Err(Problem::from(Error::about(pointer, "unknown_field", said)).into_response())
    }
}
