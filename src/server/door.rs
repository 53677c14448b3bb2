//! The port before the service is there: health answers, everything else is told to come again.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tower::layer::layer_fn;

use super::layers;
use crate::rest::health;
use crate::rest::problem::Problem;
use crate::service::Error;

/// Listens before there is anything to answer with.
#[derive(Clone)]
pub struct Door {
    service: Arc<OnceLock<Router>>,
    closed: Router,
}

impl Default for Door {
    fn default() -> Self {
        let closed = Router::new().route("/healthz", get(health::live::handle)).fallback(wait);
        Self { service: Arc::default(), closed: closed.layer(layer_fn(layers::identify)) }
    }
}

impl Door {
    /// Behind it `router` answers from the beginning.
    pub fn opened(router: Router) -> Self {
        let door = Self::default();
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
