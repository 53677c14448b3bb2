//! JSON bodies.

use std::time::Duration;

use axum::RequestExt;
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::StreamExt;
use http_body_util::LengthLimitError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tower_http::timeout::TimeoutError;

use super::super::problem::Problem;
use crate::service::Error;
use crate::service::input::json::{JsonError, read};

/// The longest time in which a whole body may arrive.
const BODY_TIMEOUT: Duration = Duration::from_mins(1);

/// A JSON body.
pub struct JsonBody<T>(pub T);

impl From<JsonError> for Problem {
    fn from(error: JsonError) -> Self {
        Error::from(error).into()
    }
}

/// The media type of the body, which must be one of `kinds`. Without a header it is the first one.
pub fn media_type<'a>(headers: &HeaderMap, kinds: &[&'a str]) -> Result<&'a str, Problem> {
    let unsupported = || {
        let detail = format!("the body must be {}", kinds.join(" or "));
        Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail)
    };
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return kinds.first().copied().ok_or_else(unsupported) };
    let text = value.to_str().map_err(|_| unsupported())?;
    let essence = text.split(';').next().unwrap_or_default().trim();
    kinds.iter().find(|k| k.eq_ignore_ascii_case(essence)).copied().ok_or_else(unsupported)
}

/// Reads the whole body. Fails if it exceeds the limit of the route, or [`BODY_TIMEOUT`].
pub async fn read_body(request: Request<Body>) -> Result<Bytes, Problem> {
    let late = || Problem::from(Error::TimedOut("the body did not arrive in time".to_owned()));
    let arrived = tokio::time::timeout(BODY_TIMEOUT, collect_body(request.into_limited_body())).await;
    arrived.map_err(|_| late())?.map_err(|error| {
        if is_silence(&error) {
            return late();
        }
        if has_cause::<LengthLimitError>(&error) {
            return Error::TooLarge("the body is larger than this endpoint takes".to_owned()).into();
        }
        Problem::malformed("incomplete_body", "the body ended early")
    })
}

/// The body in one piece. Each piece is dropped as soon as it is copied, because it may be a view of a much larger
/// buffer.
async fn collect_body(body: Body) -> Result<Bytes, axum::Error> {
    let mut pieces = body.into_data_stream();
    let mut whole = Vec::new();
    while let Some(piece) = pieces.next().await {
        whole.extend_from_slice(&piece?);
    }
    Ok(whole.into())
}

/// `value` as JSON text.
pub fn json_text(value: &impl Serialize) -> Result<Bytes, Error> {
    // Most responses fit into this capacity, so that the text is not copied while it grows.
    let mut text = Vec::with_capacity(1 << 10);
    serde_json::to_writer(&mut text, value).map_err(|e| Error::failed("the answer was not written", e))?;
    Ok(text.into())
}

/// A response that is serialised by the thread that computed `value`.
pub fn json_answer(value: &impl Serialize) -> Result<Response, Error> {
    Ok(json_response(Ok(json_text(value)?)))
}

/// The capacity for the headers of a response. It is enough for a response with an entity tag, so that the table does
/// not grow.
const HEADER_CAPACITY: usize = 12;

/// A response with a body that is JSON text.
pub fn json_response(body: Result<Bytes, Error>) -> Response {
    match body {
        Ok(body) => {
            let mut response = Response::new(body.into());
            response.headers_mut().reserve(HEADER_CAPACITY);
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
        Err(error) => Problem::from(error).into_response(),
    }
}

/// True if a body could not be read because no more of it arrived in time.
pub fn is_silence(error: &(dyn std::error::Error + 'static)) -> bool {
    has_cause::<TimeoutError>(error)
}

/// True if `error` is an `E`, or was caused by one.
fn has_cause<E: std::error::Error + 'static>(error: &(dyn std::error::Error + 'static)) -> bool {
    error.is::<E>() || error.source().is_some_and(has_cause::<E>)
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request<Body>, _state: &S) -> Result<Self, Problem> {
        media_type(request.headers(), &["application/json"])?;
        let bytes = read_body(request).await?;
        Ok(Self(read(&bytes)?))
    }
}
