//! The client of a server. It sends requests to a server at an address, or to endpoints in the same process, and reads answers.

mod answer;
mod call;
mod failure;
mod refusal;
mod remote;

use std::path::Path;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{self, HeaderValue};
use axum::http::{Method, Request, Response, Uri};
use axum::response::IntoResponse;
use tower::util::BoxCloneSyncService;
use tower::{Service, ServiceExt};

pub use answer::{HttpAnswer, no_json};
pub use call::{EndpointCall, JSON_MEDIA_TYPE};
pub use failure::ClientFailure;
pub use refusal::{EndpointRefusal, describe};

type Transport = BoxCloneSyncService<Request<Body>, Response<Body>, ClientFailure>;

/// Sends requests and receives answers.
#[derive(Clone)]
pub struct ApiClient {
    transport: Transport,
    /// The beginning of every URL: the server's address, or nothing for this process.
    prefix: Arc<str>,
    authorization: Option<HeaderValue>,
}

impl ApiClient {
    /// A client of the server at an address, over HTTP or TLS. Does not connect yet. The certificate authorities in the file
    /// `authorities` are trusted, otherwise those of the system.
    pub fn connect(server: &Uri, key: Option<&str>, authorities: Option<&Path>) -> Result<Self, ClientFailure> {
        remote::connect(server, key, authorities)
    }

    /// A client of endpoints in this process.
    pub fn in_process<S>(endpoints: S) -> Self
    where
        S: Service<Request<Body>, Error = ClientFailure> + Clone + Send + Sync + 'static,
        S::Response: IntoResponse,
        S::Future: Send,
    {
        Self::over(endpoints, String::new(), None)
    }

    fn over<S>(transport: S, prefix: String, authorization: Option<HeaderValue>) -> Self
    where
        S: Service<Request<Body>, Error = ClientFailure> + Clone + Send + Sync + 'static,
        S::Response: IntoResponse,
        S::Future: Send,
    {
        let transport = BoxCloneSyncService::new(transport.map_response(IntoResponse::into_response));
        Self { transport, prefix: prefix.into(), authorization }
    }

    pub fn get<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> EndpointCall {
        EndpointCall::new(self, Method::GET, path)
    }

    pub fn put<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> EndpointCall {
        EndpointCall::new(self, Method::PUT, path)
    }

    pub fn post<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> EndpointCall {
        EndpointCall::new(self, Method::POST, path)
    }

    pub fn patch<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> EndpointCall {
        EndpointCall::new(self, Method::PATCH, path)
    }

    pub fn delete<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> EndpointCall {
        EndpointCall::new(self, Method::DELETE, path)
    }

    /// Sends a request. Its path is appended to the prefix. Refusals become failures.
    async fn send(&self, mut request: Request<Body>) -> Result<HttpAnswer, ClientFailure> {
        if let Some(key) = &self.authorization {
            request.headers_mut().insert(header::AUTHORIZATION, key.clone());
        }
        let response = self.transport.clone().oneshot(request).await?;
        HttpAnswer::new(response, Arc::clone(&self.prefix)).accepted().await
    }
}
