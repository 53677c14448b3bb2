//! The runtimes that answer requests.
//!
//! A scheduler asks for a sequence every two seconds and reports kernels all the time, and probes ask for the server's
//! health. These urgent requests are answered on the main runtime. All other requests are answered on a second runtime.
//! Their computation, serialisation and compression can therefore never occupy the threads for urgent requests, however
//! many clients ask. The status of one user is answered on the main runtime as well: looking it up costs less than passing
//! it to the other one. On Linux the threads of the second runtime have a lower priority, so that an urgent request gets a core
//! at once if all cores are busy. Elsewhere there is one thread less than the machine has cores.
//!
//! Connections belong to the main runtime. A request that is not urgent is passed to the second runtime with its body,
//! and the response comes back. A body that is made piece by piece is also made on the second runtime. Long
//! computations take a permit in addition, so that they do not hold up other requests of the same runtime
//! ([`crate::service::compute_permits`]).

use std::sync::LazyLock;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{Method, Uri};
use axum::response::{IntoResponse, Response};
use axum::{BoxError, Error, Router};
use futures::stream::unfold;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::mpsc::{Receiver, channel};
use tokio_util::task::AbortOnDropHandle;
use tower::ServiceExt;

use super::layers;
use crate::process::priority::{LOWERS_PRIORITY, lower_own_priority};

/// The number of pieces of a body that may wait for the client before the next one is made.
const WAITING_PIECES: usize = 2;

/// The second runtime, one for the process. `None` if its threads could not be started: then all requests are answered
/// on the main runtime.
static SECOND_RUNTIME: LazyLock<Option<Runtime>> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if LOWERS_PRIORITY { cores } else { cores.saturating_sub(1).max(1) };
    Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name("fairshared-requests")
        .on_thread_start(lower_own_priority)
        .enable_all()
        .build()
        .inspect_err(|error| tracing::warn!(%error, "ordinary requests are answered on the threads of urgent ones"))
        .ok()
});

/// True for requests that schedulers, probes and people who sign in wait for: sequences, reports of kernels, health and
/// sessions.
pub fn is_urgent(method: &Method, path: &str) -> bool {
    let is_sequence = method == Method::POST && path.ends_with("/sequence");
    matches!(path, "/healthz" | "/readyz" | "/ui/session") || is_sequence || is_kernel_report(method, path)
}

/// True for reports of kernels. Their bodies are read row by row.
pub fn is_kernel_report(method: &Method, path: &str) -> bool {
    method == Method::POST && (path.ends_with("/kernels") || path.ends_with("/kernels/snapshot"))
}

/// True for the status of one user, which is looked up in memory.
fn is_single_status(method: &Method, uri: &Uri) -> bool {
    let names_user = |pair: &str| pair.split_once('=').is_some_and(|(name, _)| matches!(name, "user" | "user_uuid"));
    method == Method::GET
        && uri.path().ends_with("/fair-share-status")
        && uri.query().is_some_and(|query| query.split('&').any(names_user))
}

/// Answers a request with `router` on the runtime for its kind.
pub async fn answer(router: Router, request: Request) -> Response {
    let (method, uri) = (request.method(), request.uri());
    let runtime = match &*SECOND_RUNTIME {
        Some(runtime) if !is_urgent(method, uri.path()) && !is_single_status(method, uri) => runtime.handle(),
        _ => return router.oneshot(request).await.into_response(),
    };
    // If the client disconnects, this future is dropped, and the task is aborted with it.
    let answering = AbortOnDropHandle::new(runtime.spawn(router.oneshot(request)));
    match answering.await {
        Ok(response) => response.into_response().map(|body| made_on(runtime, body)),
        Err(error) => layers::panic_response(Box::new(error)),
    }
}

/// Makes the pieces of `body` on `runtime`. A body of known length is already complete and is returned as it is.
fn made_on(runtime: &Handle, mut body: Body) -> Body {
    if body.size_hint().exact().is_some() {
        return body;
    }
    let (sender, receiver) = channel(WAITING_PIECES);
    runtime.spawn(async move {
        while let Some(piece) = body.frame().await {
            if sender.send(Some(piece)).await.is_err() {
                return;
            }
        }
        // An error means that the client has disconnected.
        let _ = sender.send(None).await;
    });
    Body::new(StreamBody::new(unfold(Some(receiver), next_piece)))
}

type Piece = Result<Frame<Bytes>, Error>;

/// The next piece, and the receiver for the pieces after it. If the end mark is missing, the last piece is an error, so
/// that the client does not take a truncated body for a complete one.
async fn next_piece(receiver: Option<Receiver<Option<Piece>>>) -> Option<(Piece, Option<Receiver<Option<Piece>>>)> {
    let mut receiver = receiver?;
    match receiver.recv().await {
        Some(Some(piece)) => Some((piece, Some(receiver))),
        Some(None) => None,
        None => Some((Err(Error::new(BoxError::from("the answer broke off"))), None)),
    }
}
