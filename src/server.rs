//! One HTTP server out of the interfaces: their routers, and the layers around all of them.

mod access;
mod door;
mod layers;

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Redirect;
use axum::routing::get;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower_http::CompressionLevel;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use utoipa_swagger_ui::SwaggerUi;

pub use door::Door;

use crate::graphql;
use crate::rest::{self, ApiState, Limits};
use crate::service::Service;
use crate::service::jobs::JobControl;

/// What the server is made of.
#[derive(Clone)]
pub struct App {
    pub service: Arc<Service>,
    pub jobs: Arc<dyn JobControl>,
    pub limits: Limits,
}

impl App {
    pub fn new(service: Arc<Service>, jobs: Arc<dyn JobControl>) -> Self {
        Self { service, jobs, limits: Limits::default() }
    }
}

/// Every path of the server.
pub fn router(app: App) -> Router {
    let App { service, jobs, limits } = app;
    rest::metrics::describe();
    let docs = SwaggerUi::new("/docs").url("/openapi.json", rest::openapi());
    let graphql = graphql::router(graphql::schema(Arc::clone(&service), Arc::clone(&jobs)))
        .layer(from_fn_with_state(limits, rest::in_time))
        .layer(DefaultBodyLimit::max(limits.body_bytes));
    // The last layer is the outermost.
    rest::router(ApiState { service: Arc::clone(&service), jobs, limits })
        .merge(graphql)
        .merge(docs)
        .route("/", get(|| async { Redirect::temporary("/docs/") }))
        .layer(from_fn_with_state(service, access::authenticate))
        .layer(from_fn(layers::observe))
        .layer(CatchPanicLayer::custom(layers::panicked))
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest))
        .layer(from_fn(layers::identify))
}

/// How long requests in progress may take to end after a shutdown was asked for.
const DRAIN: Duration = Duration::from_secs(30);

/// Serves until `shutdown`, then lets the requests in progress end.
pub async fn serve(app: App, listener: TcpListener, shutdown: CancellationToken) -> std::io::Result<()> {
    serve_router(router(app), listener, shutdown).await
}

/// [`serve`] with whatever answers.
pub async fn serve_router(
    router: Router,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> std::io::Result<()> {
    let listener = listener.tap_io(|stream| {
        // A small answer must not wait for the acknowledgement of the one before.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY not set");
        }
    });
    let asked = shutdown.clone();
    let server = axum::serve(listener, router).with_graceful_shutdown(shutdown.cancelled_owned());
    let overdue = async {
        asked.cancelled().await;
        tokio::time::sleep(DRAIN).await;
    };
    tokio::select! {
        result = server.into_future() => result,
        () = overdue => {
            tracing::warn!("requests were still in progress at the end of the drain");
            Ok(())
        }
    }
}
