//! JSON bodies.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::super::problem::Problem;
use super::objects::Objects;
use super::{fault, pointer};
use crate::service::{Error, Fault};

/// Deeper JSON than this is refused as unreadable; nothing here needs ten levels.
pub const MAX_DEPTH: usize = 100;
/// How long a whole body may take to arrive.
const ARRIVAL: Duration = Duration::from_mins(1);

/// A JSON body.
pub struct JsonBody<T>(pub T);

/// Why bytes are not a `T`.
#[derive(Debug)]
pub enum Unreadable {
    /// Not JSON at all.
    Malformed { code: &'static str, detail: String },
    /// JSON, but not of this form.
    Wrong(Fault),
}

impl From<Unreadable> for Problem {
    fn from(error: Unreadable) -> Self {
        match error {
            Unreadable::Malformed { code, detail } => Self::malformed(code, detail),
            Unreadable::Wrong(fault) => Error::Invalid(vec![fault]).into(),
        }
    }
}

impl From<Unreadable> for Fault {
    fn from(error: Unreadable) -> Self {
        match error {
            Unreadable::Malformed { code, detail } => Self::new("", code, detail),
            Unreadable::Wrong(fault) => fault,
        }
    }
}

/// Reads one JSON document.
pub fn read<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Unreadable> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = T::deserialize(Objects(&mut deserializer)).and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|_| why::<T>(bytes))
}

/// Looks for the reason at leisure: whether the document is JSON, and which place has the fault.
fn why<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Unreadable {
    let malformed = |code, detail: String| Unreadable::Malformed { code, detail };
    if let Err(error) = std::str::from_utf8(bytes) {
        return malformed("invalid_utf8", format!("not UTF-8 text from byte {} on", error.valid_up_to()));
    }
    if is_too_deep(bytes) {
        return malformed("too_deep", format!("JSON nested deeper than {MAX_DEPTH} levels"));
    }
    if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(bytes) {
        return malformed("malformed_json", format!("not JSON: {error}"));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    match serde_path_to_error::deserialize::<_, T>(Objects(&mut deserializer)) {
        Err(error) => {
            let message = error.inner().to_string();
            if error.inner().is_data() {
                Unreadable::Wrong(fault(error.path(), &message, pointer))
            } else {
                malformed("malformed_json", format!("not JSON: {message}"))
            }
        }
        Ok(_) => malformed("malformed_json", "not one JSON document".to_owned()),
    }
}

/// Whether brackets nest deeper than [`MAX_DEPTH`] outside of texts.
pub fn is_too_deep(bytes: &[u8]) -> bool {
    let (mut depth, mut in_text, mut escaped) = (0usize, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return true;
                }
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
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
pub async fn read_body<S: Send + Sync>(request: Request<Body>, state: &S) -> Result<Bytes, Problem> {
    let arrived = tokio::time::timeout(ARRIVAL, Bytes::from_request(request, state)).await;
    let Ok(arrived) = arrived else {
        return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "request_timeout", "the body did not arrive in time"));
    };
    arrived.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            Error::TooLarge("the body is larger than this endpoint takes".to_owned()).into()
        }
        _ => Problem::malformed("incomplete_body", "the body ended early"),
    })
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request<Body>, state: &S) -> Result<Self, Problem> {
        media_type(request.headers(), &["application/json"])?;
        let bytes = read_body(request, state).await?;
        Ok(Self(read(&bytes)?))
    }
}
