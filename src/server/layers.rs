//! What happens to every request and every answer.

use std::any::Any;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue, Response};
use axum::middleware::Next;
use axum::response::IntoResponse;
use tokio::time::Instant;
use tracing::Instrument;
use uuid::Uuid;

use crate::rest::metrics;
use crate::rest::problem::{self, Problem};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const MAX_REQUEST_ID: usize = 128;

/// The name of a request in answers, log and audit log.
#[derive(Clone, Debug)]
pub struct RequestId(pub Arc<str>);

impl RequestId {
    /// The client's own id if it is fit to be logged, else a new one.
    fn of(request: &Request) -> Self {
        let sane =
            |text: &&str| (1..=MAX_REQUEST_ID).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        let given = request.headers().get(REQUEST_ID).and_then(|v| v.to_str().ok()).filter(sane);
        Self(given.map_or_else(|| Uuid::now_v7().to_string().into(), Arc::from))
    }
}

/// Names the request, traces it, and finishes its answer.
pub async fn identify(mut request: Request, next: Next) -> Response<Body> {
    let id = RequestId::of(&request);
    let span = tracing::info_span!(
        "request", request_id = &*id.0, method = %request.method(), path = request.uri().path()
    );
    request.extensions_mut().insert(id.clone());
    async move {
        let mut response = problem::finish(next.run(request).await, &id.0);
        if let Ok(value) = HeaderValue::from_str(&id.0) {
            response.headers_mut().insert(REQUEST_ID, value);
        }
        tracing::info!(status = response.status().as_u16(), "answered");
        response
    }
    .instrument(span)
    .await
}

/// Counts the request under its route.
pub async fn observe(request: Request, next: Next) -> Response<Body> {
    let route = request.extensions().get::<MatchedPath>().map_or("unmatched", MatchedPath::as_str).to_owned();
    let method = request.method().as_str().to_owned();
    let start = Instant::now();
    let response = next.run(request).await;
    metrics::observe(&method, &route, response.status().as_u16(), start.elapsed());
    response
}

/// The answer of a request whose handler panicked. The panic itself is in the log.
pub fn panicked(_: Box<dyn Any + Send>) -> Response<Body> {
    tracing::error!("a handler panicked");
    Problem::from(crate::service::Error::Internal(String::new())).into_response()
}
