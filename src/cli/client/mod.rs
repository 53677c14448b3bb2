//! The client of a command. It sends requests to a server, or to the same endpoints in this process over a local
//! database.

mod answer;
mod call;
mod local;
mod remote;

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{self, HeaderValue};
use axum::http::{Method, Request, Response};
use axum::response::IntoResponse;
use tower::util::BoxCloneSyncService;
use tower::{Service, ServiceExt, service_fn};

pub use answer::{HttpAnswer, no_json};
pub use call::{EndpointCall, JSON_MEDIA_TYPE};
pub use local::{close, system_user};

use super::failure::CommandFailure;
use crate::config::Config;
use crate::rest::LimitedEndpoints;
use crate::server::ServerApp;
use crate::service::work::spawn_use_case;

type Transport = BoxCloneSyncService<Request<Body>, Response<Body>, CommandFailure>;

/// Sends requests and receives answers.
#[derive(Clone)]
pub struct ApiClient {
    transport: Transport,
    /// The beginning of every URL: the server's address, or nothing for this process.
    prefix: Arc<str>,
    authorization: Option<HeaderValue>,
}

impl ApiClient {
    /// The client of the server in the settings, or of the database in the settings, which must exist.
    pub async fn of(config: &Config) -> Result<Self, CommandFailure> {
        if let Some(server) = &config.server {
            return remote::connect(server, config);
        }
        // The endpoints are built while the database is read.
        let endpoints = spawn_use_case(async { Ok(LimitedEndpoints::new(local::UNLIMITED_REQUESTS)) });
        let app = local::open(config).await?;
        Ok(Self::over_endpoints(endpoints.await?, app, &local::actor()))
    }

    /// [`ApiClient::of`], but creates the database if it does not exist.
    pub async fn of_new(config: &Config) -> Result<Self, CommandFailure> {
        if config.server.is_none() {
            local::create_database(config).await?;
        }
        Self::of(config).await
    }

    /// The client of endpoints in this process. `actor` is the caller's name in the audit log.
    pub fn in_process(app: ServerApp, actor: &str) -> Self {
        Self::over_endpoints(LimitedEndpoints::new(app.limits), app, actor)
    }

    fn over_endpoints(endpoints: LimitedEndpoints, app: ServerApp, actor: &str) -> Self {
        let router = crate::server::internal_router(endpoints, app, actor);
        let answer = service_fn(move |request: Request<Body>| {
            let router = router.clone();
            async move { Ok(router.oneshot(request).await.unwrap_or_else(|never: Infallible| match never {})) }
        });
        Self::over(answer, String::new(), None)
    }

    fn over<S>(transport: S, prefix: String, authorization: Option<HeaderValue>) -> Self
    where
        S: Service<Request<Body>, Error = CommandFailure> + Clone + Send + Sync + 'static,
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
    async fn send(&self, mut request: Request<Body>) -> Result<HttpAnswer, CommandFailure> {
        if let Some(key) = &self.authorization {
            request.headers_mut().insert(header::AUTHORIZATION, key.clone());
        }
        let response = self.transport.clone().oneshot(request).await?;
        HttpAnswer::new(response, Arc::clone(&self.prefix)).accepted().await
    }
}
