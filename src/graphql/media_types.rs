//! The media types of requests and responses, negotiated as specified by "GraphQL over HTTP" (edition of September
//! 2026).

use axum::http::{HeaderMap, header};
use headers_accept::Accept;
use mediatype::names::{APPLICATION, CHARSET, HTML, JSON, TEXT};
use mediatype::{MediaType, Name, ReadParams, WriteParams};

/// The media type of a response, on which its status depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerType {
    /// `application/graphql-response+json`: the status shows the result of the request.
    GraphQlResponse,
    /// `application/json`: the status of every GraphQL response is 200, because clients of this type take any other
    /// status for that of a proxy.
    Json,
}

const APPLICATION_JSON: MediaType<'static> = MediaType::new(APPLICATION, JSON);
const GRAPHQL_RESPONSE: MediaType<'static> =
    MediaType::from_parts(APPLICATION, Name::new_unchecked("graphql-response"), Some(JSON), &[]);
const TEXT_HTML: MediaType<'static> = MediaType::new(TEXT, HTML);

impl AnswerType {
    /// The type that the header `Accept` prefers, or `None` if it accepts neither. Plain JSON is chosen for a wildcard
    /// and for a request without the header.
    pub fn negotiate(headers: &HeaderMap) -> Option<Self> {
        let Some(accept) = accept_header(headers) else { return Some(Self::Json) };
        let offered = [APPLICATION_JSON, GRAPHQL_RESPONSE];
        let best = accept.negotiate(&offered)?;
        Some(if *best == GRAPHQL_RESPONSE { Self::GraphQlResponse } else { Self::Json })
    }

    /// The value of the header `Content-Type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::GraphQlResponse => "application/graphql-response+json; charset=utf-8",
            Self::Json => "application/json",
        }
    }
}

/// True if the client shows web pages, or accepts everything.
pub fn accepts_html(headers: &HeaderMap) -> bool {
    accept_header(headers).is_none_or(|accept| accept.negotiate(&[TEXT_HTML]).is_some())
}

/// True if the body is JSON in UTF-8. Without a charset UTF-8 is assumed.
pub fn is_json(headers: &HeaderMap) -> bool {
    let text = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let Ok(kind) = MediaType::parse(text) else { return false };
    let is_utf8 = |charset: mediatype::Value| charset.unquoted_str().eq_ignore_ascii_case("utf-8");
    kind.essence() == APPLICATION_JSON && kind.get_param(CHARSET).is_none_or(is_utf8)
}

/// The header `Accept`. An invalid one counts as missing, because common clients send `*` for `*/*`.
fn accept_header(headers: &HeaderMap) -> Option<Accept> {
    let texts: Vec<&str> = headers.get_all(header::ACCEPT).into_iter().filter_map(|v| v.to_str().ok()).collect();
    let accept: Accept = texts.join(",").to_ascii_lowercase().parse().ok()?;
    // All responses are UTF-8, so a charset must not keep a range from matching.
    let ranges: Accept = accept.media_types().map(|range| without_charset(range.to_ref())).collect();
    let is_empty = ranges.media_types().next().is_none();
    if is_empty { None } else { Some(ranges) }
}

fn without_charset(mut range: MediaType<'_>) -> MediaType<'_> {
    range.remove_params(CHARSET);
    range
}
