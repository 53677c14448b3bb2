//! Who asks: every path needs a key, save those that say nothing about the cluster.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, Method, header};
use axum::middleware::Next;
use axum::response::Response;

use super::layers::RequestId;
use crate::rest::problem::Problem;
use crate::service::{Caller, Error, Service};
use crate::ui::{Site, session_of};

/// How many seconds ago the database answered last; only while it does not.
const DATA_AGE: HeaderName = HeaderName::from_static("x-data-age");

/// What is asked before a request is let in.
#[derive(Clone)]
pub struct Gate {
    pub service: Arc<Service>,
    pub site: Site,
}

/// Paths that show no data: health, documentation, the web pages, and the page that lets a person type a query. Signing in
/// and out needs no key in a header. No path takes TRACE, and that is answered without a key.
fn is_open(method: &Method, path: &str) -> bool {
    if method == Method::TRACE {
        return true;
    }
    let reads = method == Method::GET || method == Method::HEAD;
    let open = ["/", "/healthz", "/readyz", "/openapi.json", "/docs", "/graphql", "/ui"];
    let is_open = open.contains(&path) || path.starts_with("/docs/") || path.starts_with("/ui/");
    (reads && is_open) || path == "/ui/session"
}

/// Puts the caller into the request, or refuses it.
pub async fn authenticate(
    State(Gate { service, site }): State<Gate>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if is_open(request.method(), request.uri().path()) {
        return Ok(next.run(request).await);
    }
    let caller = match session(&request, &site)? {
        Some(id) => service.resume_session(&id, request_id(&request)).await?,
        None => service.authenticate(bearer(request.headers())?, request_id(&request)).await?,
    };
    request.extensions_mut().insert(caller);
    let mut response = next.run(request).await;
    if let Some(age) = service.data_age() {
        response.headers_mut().insert(DATA_AGE, age.as_secs().into());
    }
    Ok(response)
}

/// The session of a web page that asks without a key; sessions are for GraphQL alone. Another site cannot make a browser
/// send such a request.
fn session(request: &Request, site: &Site) -> Result<Option<String>, Error> {
    let headers = request.headers();
    if request.uri().path() != "/graphql" || headers.contains_key(header::AUTHORIZATION) {
        return Ok(None);
    }
    let Some(id) = session_of(headers) else { return Ok(None) };
    site.require_own_page(headers)?;
    Ok(Some(id.to_owned()))
}

/// Makes every request one of `actor`, an admin of this process.
pub async fn trust(State(actor): State<Arc<str>>, mut request: Request, next: Next) -> Response {
    let caller = Caller { request_id: request_id(&request), ..Caller::internal(&actor) };
    request.extensions_mut().insert(caller);
    next.run(request).await
}

fn request_id(request: &Request) -> String {
    request.extensions().get::<RequestId>().map(|id| id.0.to_string()).unwrap_or_default()
}

fn bearer(headers: &HeaderMap) -> Result<&str, Error> {
    let refuse = |detail: &str| Error::Unauthorized { code: "missing_key", detail: detail.to_owned() };
    let value = headers
        .get(header::AUTHORIZATION)
        .ok_or_else(|| refuse("the request has no key; send it in the header Authorization: Bearer <key>"))?;
    let (scheme, key) = value.to_str().ok().and_then(|text| text.split_once(' ')).unwrap_or_default();
    if !scheme.eq_ignore_ascii_case("bearer") || key.trim().is_empty() {
        return Err(refuse("the header Authorization holds no key; it reads: Bearer <key>"));
    }
    Ok(key.trim())
}
