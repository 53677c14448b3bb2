//! The check of every request before its handler: the caller's identity, and the limits of the caller's key.
//!
//! Every request needs a proof of identity, which one of the [`authenticators`](super::authenticators) accepts, except for a
//! few that show no data of the cluster (`is_open`). The caller is put into the extensions of the request, where handlers
//! find it.
//!
//! The usual request has a key whose holder is in memory. Others may read the key or the session from the database.
//!
//! An admitted request holds two things until its handler has returned the response: the account of its body
//! ([`BodyAccount`]) and, unless it is urgent, a permit of its key ([`KeyLimits`]). The response itself is counted until
//! the client has taken it ([`AnswerBudget`]).
//!
//! This module does not decide what a caller may do: each use case of the service checks the role and the resource
//! groups of its [`Caller`]. [`trust_caller`] is for requests from within the process, which have no key.
//!
//! See "Access" in `docs/API.md`, and "What clients may ask" in `docs/OPERATIONS.md`.

use std::sync::{Arc, OnceLock};

use axum::extract::{Request, State};
use axum::http::{HeaderName, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::OwnedSemaphorePermit;

use super::answer_budget::AnswerBudget;
use super::authenticators::Authenticator;
use super::body_account::BodyAccount;
use super::key_limits::KeyLimits;
use super::layers::RequestId;
use super::request_runtime::is_urgent;
use crate::graphql;
use crate::rest::problem::Problem;
use crate::service::access::{ClientId, Principal};
use crate::service::{Caller, Error, Service};

/// The seconds since the start of the last successful comparison of memory with the database. An answer has this header
/// if its data may be more than two seconds old.
pub const DATA_AGE: HeaderName = HeaderName::from_static("x-data-age");

/// The state that the check of requests needs.
#[derive(Clone)]
pub struct AccessCheck {
    pub service: Arc<Service>,
    /// The ways to prove an identity. The first one that finds its proof in a request decides.
    pub authenticators: Arc<[Box<dyn Authenticator>]>,
    pub key_limits: Arc<KeyLimits>,
    /// Made for the first answer, because the memory of the service may be set after the router is made.
    pub answers: Arc<OnceLock<AnswerBudget>>,
}

/// True for requests that need no key: those that show no data of the cluster (health, documentation, the files of the
/// web pages, the query page of GraphQL), and those that sign in or out. No path accepts TRACE, so that it is refused
/// without a key as well.
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

/// Held by a request until its handler has returned the response: the account of its body, and its permit.
struct AdmittedRequest {
    body: Option<Arc<BodyAccount>>,
    /// The client whose answers the response is counted among; `None` for an urgent request.
    counted_for: Option<ClientId>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl AccessCheck {
    /// The way to prove an identity that a request uses, and what it sends as proof.
    fn proof<'a>(&'a self, request: &'a Request) -> Result<(&'a dyn Authenticator, &'a str), Error> {
        for authenticator in &*self.authenticators {
            if let Some(proof) = authenticator.find_proof(request)? {
                return Ok((&**authenticator, proof));
            }
        }
        let detail = "the request has no key; send it in the header Authorization: Bearer <key>".to_owned();
        Err(Error::Unauthorized { code: "missing_key", detail })
    }

    /// Gives the request its caller and an account of its body. Refuses it if the key has exceeded its limits.
    fn admit_request(&self, request: &mut Request, principal: Principal) -> Result<AdmittedRequest, Problem> {
        let caller = Caller { principal, request_id: request_id(request) };
        let is_urgent = is_urgent(request.method(), request.uri().path());
        let permit = if is_urgent { None } else { self.key_limits.admit(&caller)? };
        let body = BodyAccount::open(request, &caller, self.service.memory());
        let counted_for = (!is_urgent).then(|| caller.client());
        request.extensions_mut().insert(caller);
        Ok(AdmittedRequest { body, counted_for, _permit: permit })
    }

    /// Completes the response to an admitted request, counts it until it is sent, and adds the age of the data.
    async fn finish(&self, admitted: &AdmittedRequest, response: Response) -> Response {
        let mut response = match &admitted.body {
            Some(body) => body.close(response),
            None => response,
        };
        if let Some(client) = admitted.counted_for {
            let answers = self.answers.get_or_init(|| AnswerBudget::new(self.service.memory().total()));
            let counted = answers.count(client, response).await;
            response = counted.unwrap_or_else(|error| Problem::from(error).into_response());
        }
        if let Some(age) = self.service.data_age() {
            response.headers_mut().insert(DATA_AGE, age.as_secs().into());
        }
        response
    }
}

/// Adds the caller to each request, or refuses the request.
pub async fn check_access(State(check): State<AccessCheck>, mut request: Request, next: Next) -> Response {
    if is_open(&request) {
        return next.run(request).await;
    }
    let principal = match check.proof(&request) {
        Ok((authenticator, proof)) => authenticator.authenticate(proof).await,
        Err(error) => Err(error),
    };
    match principal.map_err(Problem::from).and_then(|principal| check.admit_request(&mut request, principal)) {
        Ok(admitted) => check.finish(&admitted, next.run(request).await).await,
        Err(problem) => problem.into_response(),
    }
}

/// Makes `actor` the caller of every request, with the rights of an admin. For requests from within this process only.
pub async fn trust_caller(State(actor): State<Arc<str>>, mut request: Request, next: Next) -> Response {
    let caller = Caller::internal_in(actor, request_id(&request));
    request.extensions_mut().insert(caller);
    next.run(request).await
}

fn request_id(request: &Request) -> Arc<str> {
    request.extensions().get::<RequestId>().map(|id| Arc::clone(&id.0)).unwrap_or_default()
}
