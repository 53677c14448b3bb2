//! Connections: their number, their time limits, and their end at a shutdown.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response, StatusCode, header};
use axum::response::IntoResponse;
use axum::serve::Listener;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection_timeouts::{ConnectionTimeouts, TimedStream};
use super::layers;
use super::limits::ConnectionLimits;
use super::request_runtime;
use super::startup_router::StartupRouter;
use crate::process::random;
use crate::rest::problem::{self, Problem};

/// The number of connections beyond the limit that get an answer at the same time. Further connections are closed
/// without one.
const MAX_REFUSED_CONNECTIONS: usize = 256;
/// A client beyond the limit that sends no request within this time is disconnected without an answer.
const REFUSED_REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// How long requests in progress may take after the start of a shutdown.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// Answers with the router of `door` until `shutdown` is cancelled, then waits for the requests in progress.
pub async fn serve_router(
    door: StartupRouter,
    mut listener: TcpListener,
    limits: ConnectionLimits,
    shutdown: CancellationToken,
) {
    let permits = Arc::new(Semaphore::new(limits.most));
    let refusals = Arc::new(Semaphore::new(MAX_REFUSED_CONNECTIONS));
    let open = TaskTracker::new();
    loop {
        let stream = tokio::select! {
            (stream, _) = Listener::accept(&mut listener) => stream,
            () = shutdown.cancelled() => break,
        };
        // Without Nagle's algorithm, which would hold back a small response until the client has acknowledged the one
        // before.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY not set");
        }
        if let Ok(permit) = Arc::clone(&permits).try_acquire_owned() {
            open.spawn(answer_requests(stream, door.clone(), limits, shutdown.clone(), permit));
        } else if let Ok(permit) = Arc::clone(&refusals).try_acquire_owned() {
            open.spawn(refuse_connection(stream, limits.most, permit));
        }
    }
    drop(listener);
    open.close();
    if tokio::time::timeout(DRAIN_TIMEOUT, open.wait()).await.is_err() {
        tracing::warn!("requests were still in progress at the end of the drain");
    }
}

/// Answers the requests of one connection, one after the other.
async fn answer_requests(
    stream: TcpStream,
    door: StartupRouter,
    limits: ConnectionLimits,
    shutdown: CancellationToken,
    _permit: OwnedSemaphorePermit,
) {
    let pace = ConnectionTimeouts::new(limits);
    let service = service_fn(|request: Request<Incoming>| {
        pace.note_handled();
        let (answering, pace) =
            (request_runtime::answer(door.router().clone(), request.map(Body::new)), Arc::clone(&pace));
        async move {
            let answer = answering.await;
            pace.note_answer();
            Ok::<_, Infallible>(answer)
        }
    });
    let io = TokioIo::new(TimedStream::new(stream, Arc::clone(&pace)));
    let mut connection = pin!(http1::Builder::new().serve_connection(io, service));
    let mut overdue = pin!(pace.overdue());
    let mut stopping = false;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection broke off");
                }
                return;
            }
            () = overdue.as_mut() => {
                tracing::debug!("a connection was closed because its client kept it waiting");
                return;
            }
            () = shutdown.cancelled(), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// Answers any request of a connection beyond the limit with 503 (`too_many_connections`).
async fn refuse_connection(stream: TcpStream, most: usize, _permit: OwnedSemaphorePermit) {
    tracing::warn!(most, "there are too many connections");
    let service = service_fn(|_: Request<Incoming>| async { Ok::<_, Infallible>(too_many()) });
    let connection = http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), service);
    // A client that sends no request within this time is disconnected without an answer.
    let _ = tokio::time::timeout(REFUSED_REQUEST_TIMEOUT, connection).await;
}

fn too_many() -> Response<Body> {
    let detail = "there are too many connections; close those that are not needed, or try again";
    let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_connections", detail);
    let mut response = problem::finish(problem.retry_soon().into_response(), &random::dated_name());
    layers::set_security_headers("", response.headers_mut());
    response.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
    response
}
