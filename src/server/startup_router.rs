//! The router during the start: as long as the service is not ready, `/healthz` answers, and every other request is
//! refused with the code `starting`.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::http::HeaderValue;
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tower::ServiceBuilder;

use super::{cors, layers};
use crate::rest::health;
use crate::rest::problem::Problem;
use crate::service::Error;

/// Serves a port before the service is ready, and from then on with the service's router.
#[derive(Clone)]
pub struct StartupRouter {
    service: Arc<OnceLock<Router>>,
    closed: Router,
}

impl StartupRouter {
    /// A router without a service. Its answers can be read by pages of `origins`, too.
    pub fn closed(origins: &[HeaderValue]) -> Self {
        let around = ServiceBuilder::new().layer(from_fn(layers::identify)).option_layer(cors::layer(origins));
        let closed = Router::new().route("/healthz", get(health::live::handle)).fallback(not_ready_response);
        Self { service: Arc::default(), closed: closed.layer(around) }
    }

    /// A router that answers with `router` from the beginning.
    pub fn opened(router: Router) -> Self {
        let startup_router = Self::closed(&[]);
        startup_router.open(router);
        startup_router
    }

    /// Makes all further requests go to `router`.
    pub fn open(&self, router: Router) {
        if self.service.set(router).is_err() {
            tracing::error!("the service was put behind its port twice");
        }
    }

    /// The router for the next request.
    pub fn router(&self) -> &Router {
        self.service.get().unwrap_or(&self.closed)
    }
}

async fn not_ready_response() -> Response {
    let detail = "the service starts: it waits for the database".to_owned();
    Problem::from(Error::not_now("starting", detail)).into_response()
}
