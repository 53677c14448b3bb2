//! The port before the service is there: health answers, everything else is told to come again.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tower::ServiceExt;

use super::layers;
use crate::rest::health;
use crate::rest::problem::Problem;
use crate::service::Error;

/// Listens before there is anything to answer with.
#[derive(Clone, Default)]
pub struct Door(Arc<OnceLock<Router>>);

impl Door {
    /// From here on `router` answers.
    pub fn open(&self, router: Router) {
        if self.0.set(router).is_err() {
            tracing::error!("the service was put behind its port twice");
        }
    }

    /// What the port answers, before and after.
    pub fn router(&self) -> Router {
        let closed =
            Router::new().route("/healthz", get(health::live::handle)).fallback(wait).layer(from_fn(layers::identify));
        Router::new().fallback(pass).with_state((self.clone(), closed))
    }
}

async fn pass(State((door, closed)): State<(Door, Router)>, request: Request) -> Response {
    let router = door.0.get().cloned().unwrap_or(closed);
    match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

async fn wait() -> Response {
    let detail = "the service starts: it waits for the database".to_owned();
    Problem::from(Error::not_now("starting", detail)).into_response()
}
