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
use crate::service::input::json::{Unreadable, read};

/// How long a whole body may take to arrive.
const ARRIVAL: Duration = Duration::from_mins(1);

/// A JSON body.
pub struct JsonBody<T>(pub T);

impl From<Unreadable> for Problem {
    fn from(error: Unreadable) -> Self {
        Error::from(error).into()
    }
}

/// Whether the body claims to be of one of `kinds`; one that claims nothing counts as the first.
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

/// The whole body, within the limit of the route and in time.
pub async fn read_body(request: Request<Body>) -> Result<Bytes, Problem> {
    let late = || Problem::from(Error::TimedOut("the body did not arrive in time".to_owned()));
    let arrived = tokio::time::timeout(ARRIVAL, whole(request.into_limited_body())).await;
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

/// A body in one piece. Each piece is let go when it is copied, because it may hold a buffer that is much larger.
async fn whole(body: Body) -> Result<Bytes, axum::Error> {
    let mut pieces = body.into_data_stream();
    let mut whole = Vec::new();
    while let Some(piece) = pieces.next().await {
        whole.extend_from_slice(&piece?);
    }
    Ok(whole.into())
}

/// The text of an answer.
pub fn json_text(value: &impl Serialize) -> Result<Bytes, Error> {
    // Most answers have room in it, so that they are not copied to grow.
    let mut text = Vec::with_capacity(1 << 10);
    serde_json::to_writer(&mut text, value).map_err(|e| Error::failed("the answer was not written", e))?;
    Ok(text.into())
}

/// An answer that is written out where it was computed.
pub fn json_answer(value: &impl Serialize) -> Result<Response, Error> {
    Ok(written(Ok(json_text(value)?)))
}

/// As many headers as an answer with a validator has in the end, so that their table never grows.
const HEADERS: usize = 12;

/// An answer that was written already.
pub fn written(body: Result<Bytes, Error>) -> Response {
    match body {
        Ok(body) => {
            let mut response = Response::new(body.into());
            response.headers_mut().reserve(HEADERS);
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
        Err(error) => Problem::from(error).into_response(),
    }
}

/// Whether a body could not be read because nothing more of it came.
pub fn is_silence(error: &(dyn std::error::Error + 'static)) -> bool {
    has_cause::<TimeoutError>(error)
}

/// Whether `error` is an `E`, or was caused by one.
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
