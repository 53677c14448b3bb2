//! Who asks: every path needs a key, save those that say nothing about the cluster.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, Method, header};
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use futures::future::ready;
use tokio::sync::OwnedSemaphorePermit;
use tower::service_fn;

use super::body_account::BodyAccount;
use super::key_limits::KeyLimits;
use super::layers::RequestId;
use super::request_runtime::is_urgent;
use crate::graphql;
use crate::rest::Answers;
use crate::rest::problem::Problem;
use crate::service::{Caller, Error, Service};
use crate::ui::{Site, session_of};

/// How many seconds old an answer may be, beyond two: since memory was last compared with the database.
pub const DATA_AGE: HeaderName = HeaderName::from_static("x-data-age");

/// What is asked before a request is let in.
#[derive(Clone)]
pub struct Gate {
    pub service: Arc<Service>,
    pub site: Site,
    pub key_limits: Arc<KeyLimits>,
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

/// The account and the permit of a request, which it holds until its answer is made.
struct AdmittedRequest {
    body: Option<Arc<BodyAccount>>,
    _permit: Option<OwnedSemaphorePermit>,
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

    /// Gives the request its caller and an account of its body, or refuses what the key asks too much.
    fn let_in(&self, request: &mut Request, caller: Caller) -> Result<AdmittedRequest, Problem> {
        let is_urgent = is_urgent(request.method(), request.uri().path());
        let permit = if is_urgent { None } else { self.key_limits.admit(&caller)? };
        let body = BodyAccount::open(request, &caller, self.service.memory());
        request.extensions_mut().insert(caller);
        Ok(AdmittedRequest { body, _permit: permit })
    }

    /// The answer to a request that was let in, with the age of what it says.
    fn finish(&self, admitted: &AdmittedRequest, response: Response) -> Response {
        let mut response = match &admitted.body {
            Some(body) => body.close(response),
            None => response,
        };
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
            let admitted = match gate.let_in(&mut request, caller) {
                Ok(admitted) => admitted,
                Err(problem) => return ready(Ok(problem.into_response())).left_future().right_future().left_future(),
            };
            let answering = inner.call(request);
            let answering = async move { Ok(gate.finish(&admitted, answering.await?)) };
            return answering.right_future().right_future().left_future();
        }
        let mut inner = inner.clone();
        let asking = async move {
            let caller = match gate.credential(&request) {
                Ok(credential) => gate.caller(credential, request_id(&request)).await,
                Err(error) => Err(error),
            };
            match caller.map_err(Problem::from).and_then(|caller| gate.let_in(&mut request, caller)) {
                Ok(admitted) => Ok(gate.finish(&admitted, inner.call(request).await?)),
                Err(problem) => Ok(problem.into_response()),
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
