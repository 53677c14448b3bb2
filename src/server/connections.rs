//! Connections: their number, their time limits, and their end at a shutdown.
//!
//! A connection speaks HTTP/1.1 or HTTP/2, in plain text. A client begins HTTP/2 without asking ("prior knowledge"); the first
//! bytes of a connection say which version it is. The limits of HTTP/2 against clients that reset streams or send frames
//! without end are those of hyper and h2.
//!
//! At a shutdown a connection finishes its requests. The first request of a connection may be on its way at that moment, and
//! a client of HTTP/2 has to acknowledge the shutdown with a PING. Both have a short time.

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
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection_clock::ConnectionClock;
use super::layers;
use super::limits::ConnectionLimits;
use super::request_runtime;
use super::startup_router::StartupRouter;
use super::watched_body::WatchedBody;
use crate::process::random;
use crate::rest::problem::{self, Problem};

/// The number of requests of one HTTP/2 connection that may be in progress at the same time: the least that RFC 9113
/// advises.
const MAX_CONCURRENT_STREAMS: u32 = 100;
/// Bytes of all bodies of requests on one HTTP/2 connection that may arrive before their handlers read them.
const CONNECTION_RECEIVE_WINDOW: u32 = 1 << 20;
/// Bytes of one body of a request on an HTTP/2 connection that may arrive before its handler reads them. A small part of the
/// connection's, because otherwise one body that waits for its handler would hold up all others.
const STREAM_RECEIVE_WINDOW: u32 = 64 << 10;
/// Bytes of one response that may wait in an HTTP/2 connection before the next piece of its body is taken.
const STREAM_SEND_BUFFER: usize = 64 << 10;
/// The number of connections beyond the limit that get an answer at the same time. Further connections are closed
/// without one.
const MAX_REFUSED_CONNECTIONS: usize = 256;
/// A client beyond the limit that sends no request within this time is disconnected without an answer.
const REFUSED_REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// How long requests in progress may take after the start of a shutdown.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a connection without a request in progress stays open after the start of a shutdown.
const SHUTDOWN_UNUSED_TIMEOUT: Duration = Duration::from_secs(2);

/// Answers with `router` until `shutdown` is cancelled, then waits for the requests in progress.
pub async fn serve_router(
    router: StartupRouter,
    mut listener: TcpListener,
    limits: ConnectionLimits,
    shutdown: CancellationToken,
) {
    let permits = Arc::new(Semaphore::new(limits.most));
    let refusals = Arc::new(Semaphore::new(MAX_REFUSED_CONNECTIONS));
    let connections = TaskTracker::new();
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
            connections.spawn(answer_requests(stream, router.clone(), limits, shutdown.clone(), permit));
        } else if let Ok(permit) = Arc::clone(&refusals).try_acquire_owned() {
            connections.spawn(refuse_connection(stream, limits.most, permit));
        }
    }
    drop(listener);
    connections.close();
    if tokio::time::timeout(DRAIN_TIMEOUT, connections.wait()).await.is_err() {
        tracing::warn!("connections were still open at the end of the drain");
    }
}

/// The builder of connections of both versions of HTTP.
fn connection_builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    let mut http2 = builder.http2();
    http2.max_concurrent_streams(MAX_CONCURRENT_STREAMS).max_send_buf_size(STREAM_SEND_BUFFER);
    http2.initial_connection_window_size(CONNECTION_RECEIVE_WINDOW).initial_stream_window_size(STREAM_RECEIVE_WINDOW);
    builder
}

/// Answers the requests of one connection: with HTTP/1 one after the other, with HTTP/2 beside each other.
async fn answer_requests(
    stream: TcpStream,
    router: StartupRouter,
    limits: ConnectionLimits,
    shutdown: CancellationToken,
    _permit: OwnedSemaphorePermit,
) {
    let clock = ConnectionClock::new(limits);
    let service = service_fn(|request: Request<Incoming>| {
        let handled = clock.begin_request(request.version());
        let clock = Arc::clone(&clock);
        let answering = request_runtime::answer(router.router().clone(), with_host(request.map(Body::new)));
        async move {
            let answer = answering.await;
            drop(handled);
            Ok::<_, Infallible>(answer.map(|body| WatchedBody::new(body, clock)))
        }
    });
    let builder = connection_builder();
    let serving = async {
        // hyper-util closes a connection without an answer if it is shut down before its first byte is read. `peek`
        // returns only when there is a byte; `readable` may return before.
        stream.peek(&mut [0]).await?;
        let mut connection = pin!(builder.serve_connection(TokioIo::new(clock.observe(stream)), service));
        tokio::select! {
            // The connection reads what has arrived before it learns of a shutdown.
            biased;
            ended = connection.as_mut() => return ended,
            () = shutdown.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        connection.await
    };
    let unused_at_shutdown = async {
        shutdown.cancelled().await;
        clock.unused_for(SHUTDOWN_UNUSED_TIMEOUT).await;
    };
    tokio::select! {
        ended = serving => {
            if let Err(error) = ended {
                tracing::debug!(error, "a connection broke off");
            }
        }
        () = clock.overdue() => tracing::debug!("a connection was closed because its client kept it waiting"),
        () = unused_at_shutdown => tracing::debug!("an unused connection was closed at the shutdown"),
    }
}

/// Sets the header `Host` to the host in the address of the request, if the address has one. In HTTP/1.1 such an address
/// replaces the header (RFC 9112, section 3.2.2), and in HTTP/2 there may be no header.
fn with_host(mut request: Request<Body>) -> Request<Body> {
    let host = request.uri().authority().map(|authority| {
        // Without a name and password, which are no part of the header.
        let port = authority.port().map(|port| format!(":{port}")).unwrap_or_default();
        HeaderValue::try_from(format!("{}{port}", authority.host()))
    });
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
