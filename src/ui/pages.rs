//! `GET /ui/…`: the file of that name, or else `index.html`, whose script shows the page for the address.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

use super::files::{PageFile, find};
use crate::rest::etag::{SeenTags, fresh_or};

/// The content security policy of the pages: they may load what this server sends, and nothing inline.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
     base-uri 'self'; form-action 'none'; frame-ancestors 'none'";
/// The tag in the built page that sets the base of its relative addresses.
const BASE_TAG: &str = "<base href=\"./\"";
/// The largest number of slashes after `/ui/` that an address of a page has.
const MAX_SLASHES: usize = 16;

/// `GET /ui/`
pub async fn page(seen: SeenTags, headers: HeaderMap) -> Response {
    index(0).map_or_else(not_found, |page| answer(&seen, &headers, &page))
}

/// `GET /ui/{path}`
pub async fn file(Path(path): Path<String>, uri: Uri, seen: SeenTags, headers: HeaderMap) -> Response {
    // Counted in the address as it was sent: in the decoded `path` a name may contain a slash of its own.
    let parts = uri.path().matches('/').count().saturating_sub(2);
    let found = match find(&path) {
        Some(file) if path != "index.html" => Some(file.clone()),
        None if path.starts_with("assets/") || parts > MAX_SLASHES => None,
        _ => index(parts),
    };
    found.map_or_else(not_found, |file| answer(&seen, &headers, &file))
}

fn not_found() -> Response {
    StatusCode::NOT_FOUND.into_response()
}

/// The page for an address with `depth` slashes after `/ui/`. Its files are found relative to the address, whatever
/// prefix a proxy adds.
fn index(depth: usize) -> Option<PageFile> {
    static PAGES_WITH_BASE: LazyLock<Mutex<HashMap<usize, PageFile>>> = LazyLock::new(Mutex::default);
    let plain = find("index.html")?;
    let mut made = PAGES_WITH_BASE.lock().unwrap_or_else(PoisonError::into_inner);
    let make = || {
        let up = if depth == 0 { "./".to_owned() } else { "../".repeat(depth) };
        let html = String::from_utf8_lossy(&plain.plain).replacen(BASE_TAG, &format!("<base href=\"{up}\""), 1);
        PageFile::new(plain.kind, html.into())
    };
    Some(made.entry(depth).or_insert_with(make).clone())
}

/// The file, or 304. A browser asks each time if its copy is still current.
fn answer(seen: &SeenTags, headers: &HeaderMap, file: &PageFile) -> Response {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let zipped = accepted.split(',').any(|part| part.trim().split(';').next() == Some("gzip"));
    let mut response = fresh_or(seen, &file.etag, || {
        let kind = [(header::CONTENT_TYPE, file.kind)];
        if zipped {
            return (kind, [(header::CONTENT_ENCODING, "gzip")], file.gzip.clone()).into_response();
        }
        (kind, file.plain.clone()).into_response()
    });
    let cached = (header::CACHE_CONTROL, "no-cache");
    for (name, value) in [cached, (header::VARY, "accept-encoding"), (header::CONTENT_SECURITY_POLICY, CONTENT_POLICY)]
    {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
