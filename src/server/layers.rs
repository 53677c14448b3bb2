//! The layers around all requests: ids, traces, metrics, security headers, and the answer after a panic.

use std::any::Any;
use std::sync::Arc;

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;
use tracing::Instrument;

use crate::process::random;
use crate::rest::metrics;
use crate::rest::problem::{self, Problem};

pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const MAX_REQUEST_ID: usize = 128;
/// The content security policy of data that a browser shows by itself: it may load nothing.
const DATA_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";
/// The content security policy of the documentation's viewer: it may load its own files. It also sets styles on its
/// elements and has images in its style sheet.
const VIEWER_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The id of a request in responses, the log and the audit log.
#[derive(Clone, Debug)]
pub struct RequestId(pub Arc<str>);

impl RequestId {
    /// The client's own id if it is short and printable, else a new one.
    fn of(request: &Request) -> Self {
        let sane =
            |text: &&str| (1..=MAX_REQUEST_ID).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        let given = request.headers().get(REQUEST_ID).and_then(|v| v.to_str().ok()).filter(sane);
        Self(given.map_or_else(random::dated_name, Arc::from))
    }
}

/// Gives each request an id and a trace span, completes its response, and counts it in the metrics of its route.
pub async fn identify(mut request: Request, next: Next) -> Response {
    let start = Instant::now();
    let RequestId(id) = RequestId::of(&request);
    let span = tracing::info_span!(
        "request", request_id = &*id, method = %request.method(), path = request.uri().path()
    );
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let route = request.extensions().get::<MatchedPath>().cloned();
    request.extensions_mut().insert(RequestId(Arc::clone(&id)));
    let answering = async move {
        let mut response = problem::finish(next.run(request).await, &id);
        if let Ok(value) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(REQUEST_ID, value);
        }
        set_security_headers(uri.path(), response.headers_mut());
        let status = response.status().as_u16();
        tracing::info!(status, "answered");
        let route = route.as_ref().map_or("unmatched", MatchedPath::as_str);
        metrics::record_request(method.as_str(), route, status, start.elapsed());
        response
    };
    answering.instrument(span).await
}

/// Sets the headers by which a browser does not guess the type of a response, show it in a frame, send its address to
/// other sites, or load anything that it names. Pages for people set their own content security policy.
pub fn set_security_headers(path: &str, headers: &mut HeaderMap) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    let policy = if path.starts_with("/docs/") { VIEWER_POLICY } else { DATA_POLICY };
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(policy));
}

/// The response to a request whose handler panicked. The panic itself is in the log.
pub fn panic_response(_: Box<dyn Any + Send>) -> Response {
    Problem::from(crate::service::Error::internal("a handler panicked")).into_response()
}
