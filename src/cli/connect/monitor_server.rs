//! The port of a connector: `/metrics` and `/readyz`. It needs no key, because no figure is about a user.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::cli::failure::CommandFailure;
use crate::connectors::connector_monitor::{ConnectorMonitor, UnreadyReason};
use crate::process::random;
use crate::rest::problem::{Problem, finish};
use crate::server::{ConnectionLimits, StartupRouter, serve_router};

/// The number of connections at the same time. Probes need few.
const MAX_CONNECTIONS: usize = 64;

/// Serves a monitor until the returned value is dropped.
pub async fn serve_monitor(
    address: SocketAddr,
    monitor: Arc<ConnectorMonitor>,
) -> Result<AbortOnDropHandle<()>, CommandFailure> {
    let unusable = |error| CommandFailure::Unusable(format!("cannot listen on metrics_listen {address}: {error}"));
    let listener = TcpListener::bind(address).await.map_err(unusable)?;
    let address = listener.local_addr().map_err(unusable)?;
    tracing::info!("metrics and readiness are at http://{address}/metrics and http://{address}/readyz");
    let router = Router::new().route("/metrics", get(show_metrics)).route("/readyz", get(show_readiness));
    let router = StartupRouter::opened(router.with_state(monitor));
    let limits = ConnectionLimits { most: MAX_CONNECTIONS, ..ConnectionLimits::default() };
    let serving = serve_router(router, listener, limits, CancellationToken::new());
    Ok(AbortOnDropHandle::new(tokio::spawn(serving)))
}

async fn show_metrics(State(monitor): State<Arc<ConnectorMonitor>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], monitor.render())
}

async fn show_readiness(State(monitor): State<Arc<ConnectorMonitor>>) -> Response<Body> {
    match monitor.check_readiness() {
        Ok(()) => Json(json!({"status": "ready"})).into_response(),
        Err(UnreadyReason { code, detail }) => {
            let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, code, detail);
            finish(problem.into_response(), &random::dated_name())
        }
    }
}
