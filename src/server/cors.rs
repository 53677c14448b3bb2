//! Access to the API for pages of other servers in a browser (CORS). Only the origins in the settings have it; by
//! default there are none.
//!
//! Such a page sends a key of its own in the header `Authorization`. It cannot use the cookie of the web pages:
//! browsers are not allowed to send credentials along, and a request with the cookie has to come from this server's
//! pages.

use std::time::Duration;

use axum::http::Method;
use axum::http::header::{self, HeaderValue};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::access::DATA_AGE;
use super::layers::REQUEST_ID;

/// How long a browser may cache the answer to a preflight request. Chromium caches it for at most two hours.
const MAX_AGE: Duration = Duration::from_mins(10);

/// The CORS layer for pages of `origins`, or `None` if there are none.
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
