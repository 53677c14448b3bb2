//! Entity tags: `ETag` in responses, `If-None-Match` and `If-Match` in requests.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::problem::{Problem, Result};

/// The entity tags in a header; `None` without the header.
fn listed_tags(headers: &HeaderMap, name: &HeaderName) -> Result<Option<Vec<String>>> {
    let mut tags = Vec::new();
    for value in headers.get_all(name) {
        let text = value
            .to_str()
            .map_err(|_| Problem::malformed("malformed_header", format!("{name} holds characters beyond ASCII")))?;
        tags.extend(text.split(',').map(str::trim).filter(|t| !t.is_empty()).map(str::to_owned));
    }
    Ok((!tags.is_empty()).then_some(tags))
}

/// The entity tags of the responses that the client has: `If-None-Match`.
pub struct SeenTags(Vec<String>);

impl<S: Send + Sync> FromRequestParts<S> for SeenTags {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        Ok(Self(listed_tags(&parts.headers, &header::IF_NONE_MATCH)?.unwrap_or_default()))
    }
}

/// 304 if the client already has the response with `etag`, else the response from `body`.
pub fn fresh_or(SeenTags(seen): &SeenTags, etag: &str, body: impl FnOnce() -> Response) -> Response {
    let known = seen.iter().any(|t| t == "*" || t.strip_prefix("W/").unwrap_or(t) == etag);
    let response = if known { StatusCode::NOT_MODIFIED.into_response() } else { body() };
    with_etag(response, etag)
}

/// Adds the entity tag to the response.
pub fn with_etag(mut response: Response, etag: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(etag) {
        response.headers_mut().insert(header::ETAG, value);
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    }
    response
}

/// The entity tag that `If-Match` requires. Of several it is the current one, if that is among them. `None` if any state
/// is accepted.
pub fn required_tag(headers: &HeaderMap, current: impl FnOnce() -> Option<String>) -> Result<Option<String>> {
    let Some(tags) = listed_tags(headers, &header::IF_MATCH)? else { return Ok(None) };
    let current = current();
    if tags.iter().any(|t| t == "*") && current.is_some() {
        return Ok(None);
    }
    let matching = tags.iter().find(|t| Some(*t) == current.as_ref());
    Ok(matching.or(tags.first()).cloned())
}
