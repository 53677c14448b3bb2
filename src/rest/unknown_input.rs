//! Refuses query parameters and conditions of writes that an endpoint does not support, so that no client relies on one
//! that has no effect.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::MatchedPath;
use axum::http::{Method, Request, Response, header};
use axum::response::IntoResponse;
use axum::routing::MethodFilter;
use tower_http::validate_request::ValidateRequest;
use utoipa::openapi::RefOr;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};

use super::problem::Problem;
use crate::domain::fault::escape_key;
use crate::service::{Error, Fault};

/// The kinds of parameters that an operation supports. It checks their values itself.
#[derive(Clone, Copy, Default)]
struct AllowedInputs {
    query: bool,
    if_match: bool,
}

impl AllowedInputs {
    fn of(operation: &Operation) -> Self {
        let parameters = operation.parameters.iter().flatten().filter_map(|parameter| match parameter {
            RefOr::T(parameter) => Some(parameter),
            RefOr::Ref(_) => None,
        });
        parameters.fold(Self::default(), |taken, Parameter { name, parameter_in, .. }| Self {
            query: taken.query || *parameter_in == ParameterIn::Query,
            if_match: taken.if_match || *parameter_in == ParameterIn::Header && name == "If-Match",
        })
    }

    /// The first unsupported parameter or condition of the request.
    fn missing<B>(self, request: &Request<B>) -> Option<Fault> {
        self.parameter(request).or_else(|| self.condition(request))
    }

    fn parameter<B>(self, request: &Request<B>) -> Option<Fault> {
        let query = request.uri().query().filter(|_| !self.query)?;
        let (name, _) = form_urlencoded::parse(query.as_bytes()).next()?;
        let pointer = format!("/{}", escape_key(&name));
        Some(Fault::about(pointer, "unknown_field", "is not known here; this endpoint takes no query parameters"))
    }

    /// An unsupported condition of a write. A client that sends one relies on it. Reads may have any: a condition has
    /// no effect on a response without an entity tag.
    fn condition<B>(self, request: &Request<B>) -> Option<Fault> {
        if request.method().is_safe() {
            return None;
        }
        let conditions = [
            ("If-Match", header::IF_MATCH, self.if_match),
            ("If-None-Match", header::IF_NONE_MATCH, false),
            ("If-Unmodified-Since", header::IF_UNMODIFIED_SINCE, false),
        ];
        let (name, ..) =
            conditions.into_iter().find(|(_, header, taken)| !taken && request.headers().contains_key(header))?;
        let said = "is a condition that this endpoint cannot check; leave the header out";
        Some(Fault::about(format!("/{name}"), "unsupported_condition", said))
    }
}

/// The supported parameters by path and method.
#[derive(Clone, Default)]
pub struct UnknownInputLayer(Arc<HashMap<String, Vec<(MethodFilter, AllowedInputs)>>>);

impl UnknownInputLayer {
    /// Adds the parameters of `method` of `path`.
    pub fn note(&mut self, path: &str, method: MethodFilter, operation: &Operation) {
        Arc::make_mut(&mut self.0).entry(path.to_owned()).or_default().push((method, AllowedInputs::of(operation)));
    }

    fn taken(&self, method: &Method, path: &str) -> AllowedInputs {
        // HEAD has the same parameters as GET.
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let Ok(method) = MethodFilter::try_from(method.clone()) else { return AllowedInputs::default() };
        let methods = self.0.get(path).into_iter().flatten();
        methods.into_iter().find(|(of, _)| *of == method).map_or_else(AllowedInputs::default, |(_, taken)| *taken)
    }
}

impl<B> ValidateRequest<B> for UnknownInputLayer {
    type ResponseBody = Body;

    fn validate(&mut self, request: &mut Request<B>) -> Result<(), Response<Body>> {
        let path = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
        match self.taken(request.method(), path).missing(request) {
            None => Ok(()),
            Some(fault) => Err(Problem::from(Error::Invalid(vec![fault])).into_response()),
        }
    }
}
