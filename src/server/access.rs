//! Who asks: every path needs a key, save those that say nothing about the cluster.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, Method, header};
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use tower::service_fn;

use super::layers::RequestId;
use crate::graphql;
use crate::rest::Answers;
use crate::rest::problem::Problem;
use crate::service::{Caller, Error, Service};
use crate::ui::{Site, session_of};

/// How many seconds ago the database answered last; only while it does not.
pub const DATA_AGE: HeaderName = HeaderName::from_static("x-data-age");

/// What is asked before a request is let in.
#[derive(Clone)]
pub struct Gate {
    pub service: Arc<Service>,
    pub site: Site,
}

/// Paths that show no data: health, documentation, the web pages, and the page that lets a person type a query. Signing in
/// and out needs no key in a header. No path takes TRACE, and that is answered without a key.
fn is_open(request: &Request) -> bool {
    let (method, path) = (request.method(), request.uri().path());
    if method == Method::TRACE {
        return true;
    }
    let reads = method == Method::GET || method == Method::HEAD;
    let open = ["/", "/healthz", "/readyz", "/openapi.json", "/docs", "/ui"];
    let is_open = open.contains(&path) || path.starts_with("/docs/") || path.starts_with("/ui/");
    (reads && is_open) || path == "/ui/session" || graphql::is_page_request(method, request.uri(), request.headers())
}

/// What a request shows to be let in.
enum Credential<'a> {
    Key(&'a str),
    Session(&'a str),
}

impl Gate {
    fn credential<'a>(&self, request: &'a Request) -> Result<Credential<'a>, Error> {
        match session(request, &self.site)? {
            Some(id) => Ok(Credential::Session(id)),
            None => bearer(request.headers()).map(Credential::Key),
        }
    }

    /// Who asks; the database may have to tell.
    async fn caller(&self, credential: Credential<'_>, request_id: Arc<str>) -> Result<Caller, Error> {
        match credential {
            Credential::Session(id) => self.service.resume_session(id, request_id).await,
            Credential::Key(key) => self.service.authenticate(key, request_id).await,
        }
    }

    /// The answer, with the age of what it says.
    fn dated(&self, mut response: Response) -> Response {
        if let Some(age) = self.service.data_age() {
            response.headers_mut().insert(DATA_AGE, age.as_secs().into());
        }
        response
    }
}

/// Puts the caller into each request, or refuses it.
pub fn authenticate(gate: Gate, mut inner: impl Answers) -> impl Answers {
    service_fn(move |mut request: Request| {
        if is_open(&request) {
            return inner.call(request).left_future().left_future();
        }
        let gate = gate.clone();
        if let Ok(Credential::Key(key)) = gate.credential(&request)
            && let Some(Ok(caller)) = gate.service.known_holder(key, request_id(&request))
        {
            request.extensions_mut().insert(caller);
            let answering = inner.call(request);
            return async move { Ok(gate.dated(answering.await?)) }.right_future().left_future();
        }
        let mut inner = inner.clone();
        let asking = async move {
            let caller = match gate.credential(&request) {
                Ok(credential) => gate.caller(credential, request_id(&request)).await,
                Err(error) => Err(error),
            };
            match caller {
                Ok(caller) => {
                    request.extensions_mut().insert(caller);
                    Ok(gate.dated(inner.call(request).await?))
                }
                Err(error) => Ok(Problem::from(error).into_response()),
            }
        };
        // Few requests need it, so that it takes no room in the others.
        asking.boxed().right_future()
    })
}

/// The session of a web page that asks without a key; sessions are for GraphQL alone. Another site cannot make a browser
/// send such a request.
fn session<'a>(request: &'a Request, site: &Site) -> Result<Option<&'a str>, Error> {
    let headers = request.headers();
    if request.uri().path() != "/graphql" || headers.contains_key(header::AUTHORIZATION) {
        return Ok(None);
    }
    let Some(id) = session_of(headers) else { return Ok(None) };
    site.require_own_page(headers)?;
    Ok(Some(id))
}

/// Makes every request one of `actor`, an admin of this process.
pub fn trust(actor: Arc<str>, mut inner: impl Answers) -> impl Answers {
    service_fn(move |mut request: Request| {
        let caller = Caller::internal_in(Arc::clone(&actor), request_id(&request));
        request.extensions_mut().insert(caller);
        inner.call(request)
    })
}

fn request_id(request: &Request) -> Arc<str> {
    request.extensions().get::<RequestId>().map(|id| Arc::clone(&id.0)).unwrap_or_default()
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
