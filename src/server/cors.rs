//! Pages of other servers that may use the API from a browser (CORS). None may unless a setting names its origin.
//!
//! Such a page shows a key of its own in the header `Authorization`. The cookie of the web pages is of no use to it:
//! browsers are not allowed to send credentials along, and a request with the cookie has to come from this server's pages.

use std::time::Duration;

use axum::http::Method;
use axum::http::header::{self, HeaderValue};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::access::DATA_AGE;
use super::layers::REQUEST_ID;

/// How long a browser remembers what a page may send. Chromium remembers it for at most two hours.
const MAX_AGE: Duration = Duration::from_mins(10);

/// The layer for pages of `origins`, or `None` if there are none.
pub fn layer(origins: &[HeaderValue]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let methods = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    let sent = [header::AUTHORIZATION, header::CONTENT_TYPE, header::IF_MATCH, header::IF_NONE_MATCH, REQUEST_ID];
    let exposed = [header::ETAG, header::RETRY_AFTER, header::ALLOW, header::WWW_AUTHENTICATE, REQUEST_ID, DATA_AGE];
    let layer = CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins.iter().cloned()))
        .allow_methods(methods)
        .allow_headers(sent)
        .expose_headers(exposed)
        .max_age(MAX_AGE);
    Some(layer)
}
