//! The query page at `GET /graphql`. It is one file, and sends requests to this server only.

use std::sync::LazyLock;

use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

const PAGE_HTML: &str = include_str!("page.html");

/// Allows the page's own script and style, by their hashes, and requests to this server, but nothing else.
static PAGE_POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |tag: &str| {
        let inner =
            PAGE_HTML.split_once(&format!("<{tag}>")).and_then(|(_, rest)| rest.split_once(&format!("</{tag}>")));
        let digest = Sha256::digest(inner.map_or("", |(text, _)| text));
        format!("'sha256-{}'", STANDARD.encode(digest))
    };
    format!(
        "default-src 'none'; script-src {}; style-src {}; connect-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'",
        hash("script"),
        hash("style")
    )
});

/// The page, which is served without a key. It asks the user for a key and sends it with its queries.
pub async fn page() -> Response {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, PAGE_POLICY.as_str()),
        (header::CACHE_CONTROL, "no-cache"),
        // At the same address other clients get GraphQL responses.
        (header::VARY, "accept"),
    ];
    (headers, Html(PAGE_HTML)).into_response()
}
