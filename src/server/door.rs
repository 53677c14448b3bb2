//! The port before the service is there: health answers, everything else is told to come again.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::http::HeaderValue;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tower::ServiceBuilder;
use tower::layer::layer_fn;

use super::{cors, layers};
use crate::rest::health;
use crate::rest::problem::Problem;
use crate::service::Error;

/// Listens before there is anything to answer with.
#[derive(Clone)]
pub struct Door {
    service: Arc<OnceLock<Router>>,
    closed: Router,
}

impl Door {
    /// Nothing is behind it yet. Pages of `origins` can read that, too.
    pub fn closed(origins: &[HeaderValue]) -> Self {
        let around = ServiceBuilder::new().layer(layer_fn(layers::identify)).option_layer(cors::layer(origins));
        let closed = Router::new().route("/healthz", get(health::live::handle)).fallback(wait);
        Self { service: Arc::default(), closed: closed.layer(around) }
    }

    /// Behind it `router` answers from the beginning.
    pub fn opened(router: Router) -> Self {
        let door = Self::closed(&[]);
        door.open(router);
        door
    }

    /// From here on `router` answers.
    pub fn open(&self, router: Router) {
        if self.service.set(router).is_err() {
            tracing::error!("the service was put behind its port twice");
        }
    }

    /// What answers now.
    pub fn router(&self) -> &Router {
        self.service.get().unwrap_or(&self.closed)
    }
}

async fn wait() -> Response {
    let detail = "the service starts: it waits for the database".to_owned();
    Problem::from(Error::not_now("starting", detail)).into_response()
}
