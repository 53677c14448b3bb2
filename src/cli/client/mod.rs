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

pub use answer::{Answer, no_json};
pub use call::{Call, JSON};
pub use local::close;

use super::failure::Failure;
use crate::config::Config;
use crate::rest::Endpoints;
use crate::server::App;
use crate::service::work::begun;

type Transport = BoxCloneSyncService<Request<Body>, Response<Body>, Failure>;

/// Sends requests and receives answers.
#[derive(Clone)]
pub struct Client {
    transport: Transport,
    /// The beginning of every URL: the server's address, or nothing for this process.
    prefix: Arc<str>,
    authorization: Option<HeaderValue>,
}

impl Client {
    /// The client of the server in the settings, or of the database in the settings, which must exist.
    pub async fn of(config: &Config) -> Result<Self, Failure> {
        if let Some(server) = &config.server {
            return remote::connect(server, config);
        }
        // The endpoints are built while the database is read.
        let endpoints = begun(async { Ok(Endpoints::new(local::LIMITS)) });
        let app = local::open(config).await?;
        Ok(Self::over_endpoints(endpoints.await?, app, &local::actor()))
    }

    /// [`Client::of`], but creates the database if it does not exist.
    pub async fn of_new(config: &Config) -> Result<Self, Failure> {
        if config.server.is_none() {
            local::make(config).await?;
        }
        Self::of(config).await
    }

    /// The client of endpoints in this process. `actor` is the caller's name in the audit log.
    pub fn in_process(app: App, actor: &str) -> Self {
        Self::over_endpoints(Endpoints::new(app.limits), app, actor)
    }

    fn over_endpoints(endpoints: Endpoints, app: App, actor: &str) -> Self {
        let router = crate::server::internal_router(endpoints, app, actor);
        let answer = service_fn(move |request: Request<Body>| {
            let router = router.clone();
            async move { Ok(router.oneshot(request).await.unwrap_or_else(|never: Infallible| match never {})) }
        });
        Self::over(answer, String::new(), None)
    }

    fn over<S>(transport: S, prefix: String, authorization: Option<HeaderValue>) -> Self
    where
        S: Service<Request<Body>, Error = Failure> + Clone + Send + Sync + 'static,
        S::Response: IntoResponse,
        S::Future: Send,
    {
        let transport = BoxCloneSyncService::new(transport.map_response(IntoResponse::into_response));
        Self { transport, prefix: prefix.into(), authorization }
    }

    pub fn get<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> Call {
        Call::new(self, Method::GET, path)
    }

    pub fn put<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> Call {
        Call::new(self, Method::PUT, path)
    }

    pub fn post<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> Call {
        Call::new(self, Method::POST, path)
    }

    pub fn patch<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> Call {
        Call::new(self, Method::PATCH, path)
    }

    pub fn delete<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> Call {
        Call::new(self, Method::DELETE, path)
    }

    /// Sends a request. Its path is appended to the prefix. Refusals become failures.
    async fn send(&self, mut request: Request<Body>) -> Result<Answer, Failure> {
        if let Some(key) = &self.authorization {
            request.headers_mut().insert(header::AUTHORIZATION, key.clone());
        }
        let response = self.transport.clone().oneshot(request).await?;
        Answer::new(response, Arc::clone(&self.prefix)).accepted().await
    }
}
