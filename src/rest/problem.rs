//! Refusals as `application/problem+json` (RFC 9457). A handler returns a [`Problem`]. The outermost layer serialises
//! it, because only there the request id is known, and because plain-text refusals of libraries pass there as well.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::response::IntoResponse;

pub use crate::api::problem::ProblemView;
use crate::engine::error::PresentState;
use crate::service::{Error, Fault};

/// The refusal of a request.
#[derive(Clone, Debug)]
pub struct Problem {
    pub status: StatusCode,
    pub code: &'static str,
    pub detail: String,
    pub faults: Vec<Fault>,
    /// The numbers of things that a refused removal would destroy, or a refused snapshot end.
    pub counts: BTreeMap<&'static str, u64>,
    /// The current state, if it contradicts the state that the request is based on.
    found: Option<Box<PresentState>>,
    /// Headers of the refusal, like `WWW-Authenticate`.
    headers: Box<[(HeaderName, &'static str)]>,
}

pub type Result<T> = std::result::Result<T, Problem>;

/// The seconds after which a refused request may be sent again.
const RETRY_AFTER: &str = "1";
const PROBLEM_TYPE: &str = "application/problem+json";
const PROBLEM_JSON: HeaderValue = HeaderValue::from_static(PROBLEM_TYPE);
/// The media types of bodies that say what is wrong. Others come from libraries, as plain text or empty.
const WRITTEN_ERRORS: [&str; 2] = [PROBLEM_TYPE, "application/graphql-response+json"];
const MISSING_KEY: &str = "Bearer realm=\"fairshared\"";
const WRONG_KEY: &str = "Bearer realm=\"fairshared\", error=\"invalid_token\"";

impl Problem {
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            code,
            detail: detail.into(),
            faults: Vec::new(),
            counts: BTreeMap::new(),
            found: None,
            headers: Box::default(),
        }
    }

    /// 400: the request cannot be parsed.
    pub fn malformed(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail)
    }

    /// The problem for a response of a library that has an error status and no problem.
    fn of_status(status: StatusCode) -> Self {
        let (code, detail) = match status {
            StatusCode::NOT_FOUND => ("unknown_path", "the path leads to nothing"),
            StatusCode::METHOD_NOT_ALLOWED => {
                ("method_not_allowed", "the path does not take this method; the header Allow names those it takes")
            }
            StatusCode::NOT_ACCEPTABLE => {
                ("not_acceptable", "the header Accept-Encoding accepts no form in which this can be answered")
            }
            StatusCode::PAYLOAD_TOO_LARGE => ("too_large", "the body is larger than this endpoint takes"),
            StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                ("unsupported_media_type", "the body has a content type that this endpoint does not take")
            }
            StatusCode::REQUEST_TIMEOUT => ("request_timeout", "the request did not arrive in time"),
            StatusCode::SERVICE_UNAVAILABLE => ("unavailable", "the service is busy; try again"),
            s if s.is_server_error() => ("internal", "an internal error happened; its cause is in the server's log"),
            _ => ("malformed_request", "the request cannot be read"),
        };
        Self::new(status, code, detail)
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: &'static str) -> Self {
        self.headers = self.headers.into_iter().chain([(name, value)]).collect();
        self
    }

    /// 503: the response took too long. The work may continue.
    pub fn timeout() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "timeout", "the answer took too long; try again").retry_soon()
    }

    /// Adds `Retry-After`.
    #[must_use]
    pub fn retry_soon(self) -> Self {
        self.header(header::RETRY_AFTER, RETRY_AFTER)
    }

    fn write(self, request_id: &str) -> Response<Body> {
        let PresentState { config_revision, by } = self.found.map_or_else(PresentState::default, |found| *found);
        let view = ProblemView {
            kind: format!("urn:fairshared:problem:{}", self.code),
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: &self.detail,
            code: self.code,
            request_id,
            errors: self.faults,
            counts: self.counts,
            config_revision,
            audit_id: by.as_ref().map(|by| by.id),
            at: by.as_ref().map(|by| by.at),
            actor: by.map(|by| by.actor),
        };
        let mut response = Response::new(Body::from(serde_json::to_vec(&view).unwrap_or_default()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, PROBLEM_JSON);
        for (name, value) in self.headers {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::Malformed { .. } => StatusCode::BAD_REQUEST,
            Error::Unauthorized { .. } => StatusCode::UNAUTHORIZED,
            Error::Forbidden(_) => StatusCode::FORBIDDEN,
            Error::NotFound { .. } => StatusCode::NOT_FOUND,
            Error::TimedOut(_) => StatusCode::REQUEST_TIMEOUT,
            Error::Conflict { .. } | Error::Guarded { .. } | Error::Overtaken { .. } => StatusCode::CONFLICT,
            Error::StaleMatch => StatusCode::PRECONDITION_FAILED,
            Error::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Error::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Error::Unavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
            Error::Internal { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let problem = Self::new(status, error.code(), error.to_string());
        match error {
            Error::Invalid(faults) => Self { faults, ..problem },
            Error::Guarded { counts, .. } => Self { counts, ..problem },
            Error::Overtaken { found, .. } => Self { found: Some(found), ..problem },
            Error::Unavailable { .. } => problem.retry_soon(),
            Error::Unauthorized { code: "missing_key", .. } => problem.header(header::WWW_AUTHENTICATE, MISSING_KEY),
            Error::Unauthorized { .. } => problem.header(header::WWW_AUTHENTICATE, WRONG_KEY),
            _ => problem,
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status;
        response.extensions_mut().insert(self);
        response
    }
}

/// Headers by which a browser decides if a page may read a response. They come from an inner layer, and are copied to
/// the response with the problem.
const CORS_HEADERS: [HeaderName; 3] =
    [header::ACCESS_CONTROL_ALLOW_ORIGIN, header::ACCESS_CONTROL_EXPOSE_HEADERS, header::VARY];

/// Serialises the problem in a response, or the one for its error status.
pub fn finish(mut response: Response<Body>, request_id: &str) -> Response<Body> {
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        let mut written = problem.write(request_id);
        copy_headers(&CORS_HEADERS, response.headers(), written.headers_mut());
        return written;
    }
    let status = response.status();
    if has_written_error(response.headers()) || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let mut written = Problem::of_status(status).write(request_id);
    copy_headers(&CORS_HEADERS, response.headers(), written.headers_mut());
    copy_headers(&[header::ALLOW, header::RETRY_AFTER], response.headers(), written.headers_mut());
    written
}

fn has_written_error(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| WRITTEN_ERRORS.contains(&kind.trim()))
}

fn copy_headers(names: &[HeaderName], from: &HeaderMap, to: &mut HeaderMap) {
    for name in names {
        for value in from.get_all(name) {
            to.append(name, value.clone());
        }
    }
}
