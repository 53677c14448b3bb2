//! Connections: their number, their time limits, and their end at a shutdown.
//!
//! A connection speaks HTTP/1.1 or HTTP/2, in plain text. A client begins HTTP/2 without asking ("prior knowledge"); the first
//! bytes of a connection say which version it is. The limits of HTTP/2 against clients that reset streams or send frames
//! without end are those of hyper and h2.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, StatusCode, header};
use axum::response::IntoResponse;
use axum::serve::Listener;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::connection_clock::ConnectionClock;
use super::layers;
use super::limits::ConnectionLimits;
use super::request_runtime;
use super::startup_router::StartupRouter;
use crate::process::random;
use crate::rest::problem::{self, Problem};

/// The number of requests of one HTTP/2 connection that may be in progress at the same time: the least that RFC 9113
/// advises.
const MAX_CONCURRENT_STREAMS: u32 = 100;
/// The number of connections beyond the limit that get an answer at the same time. Further connections are closed
/// without one.
const MAX_REFUSED_CONNECTIONS: usize = 256;
/// A client beyond the limit that sends no request within this time is disconnected without an answer.
const REFUSED_REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// How long requests in progress may take after the start of a shutdown.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// Answers with `router` until `shutdown` is cancelled, then waits for the requests in progress.
pub async fn serve_router(
    router: StartupRouter,
    mut listener: TcpListener,
    limits: ConnectionLimits,
    shutdown: CancellationToken,
) {
    let permits = Arc::new(Semaphore::new(limits.most));
    let refusals = Arc::new(Semaphore::new(MAX_REFUSED_CONNECTIONS));
    let open = GracefulShutdown::new();
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
            tokio::spawn(answer_requests(stream, router.clone(), limits, open.watcher(), permit));
        } else if let Ok(permit) = Arc::clone(&refusals).try_acquire_owned() {
            tokio::spawn(refuse_connection(stream, limits.most, permit));
        }
    }
    drop(listener);
    if tokio::time::timeout(DRAIN_TIMEOUT, open.shutdown()).await.is_err() {
        tracing::warn!("connections were still open at the end of the drain");
    }
}

/// The builder of connections of both versions of HTTP.
fn connection_builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http2().max_concurrent_streams(MAX_CONCURRENT_STREAMS);
    builder
}

/// Answers the requests of one connection: with HTTP/1 one after the other, with HTTP/2 beside each other.
async fn answer_requests(
    stream: TcpStream,
    router: StartupRouter,
    limits: ConnectionLimits,
    open: Watcher,
    _permit: OwnedSemaphorePermit,
) {
    let clock = ConnectionClock::new(limits);
    let service = service_fn(|request: Request<Incoming>| {
        let handled = clock.begin_request(request.version());
        let answering = request_runtime::answer(router.router().clone(), with_host(request.map(Body::new)));
        async move {
            let answer = answering.await;
            drop(handled);
            Ok::<_, Infallible>(answer)
        }
    });
    let builder = connection_builder();
    let connection = builder.serve_connection(TokioIo::new(clock.observe(stream)), service);
    tokio::select! {
        ended = open.watch(connection) => {
            if let Err(error) = ended {
                tracing::debug!(error, "a connection broke off");
            }
        }
        () = clock.overdue() => tracing::debug!("a connection was closed because its client kept it waiting"),
    }
}

/// Sets the header `Host` to the host in the address of the request, which comes before the header. With HTTP/2 there may
/// be no such header.
fn with_host(mut request: Request<Body>) -> Request<Body> {
    let host = request.uri().authority().map(|authority| HeaderValue::from_str(authority.as_str()));
    if let Some(Ok(host)) = host {
        request.headers_mut().insert(header::HOST, host);
    }
    request
}

/// Answers the first request of a connection beyond the limit with 503 (`too_many_connections`), and closes the connection.
async fn refuse_connection(stream: TcpStream, most: usize, _permit: OwnedSemaphorePermit) {
    tracing::warn!(most, "there are too many connections");
    let asked = Notify::new();
    let service = service_fn(|_: Request<Incoming>| {
        asked.notify_one();
        async { Ok::<_, Infallible>(too_many()) }
    });
    let builder = connection_builder();
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let refusing = async {
        tokio::select! {
            _ = connection.as_mut() => return,
            () = asked.notified() => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    };
    let _ = tokio::time::timeout(REFUSED_REQUEST_TIMEOUT, refusing).await;
}

fn too_many() -> Response<Body> {
    let detail = "there are too many connections; close those that are not needed, or try again";
    let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_connections", detail);
    let mut response = problem::finish(problem.retry_soon().into_response(), &random::dated_name());
    layers::set_security_headers("", response.headers_mut());
    // hyper leaves this header out of a response of HTTP/2, which has none.
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}
