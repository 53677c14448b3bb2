//! The threads that answer requests.
//!
//! A scheduler asks for a sequence every two seconds and reports kernels all the time, and probes ask for the server's
//! health. These urgent requests are answered on the threads that the program starts with. All other requests are answered
//! on a runtime of their own. What they compute, write out and compress can therefore never hold the threads of urgent requests,
//! however dear it is and however many clients ask. On Linux these threads have a lower priority, so that an urgent request gets a
//! core at once where all cores are busy. Elsewhere they are one less than the machine has cores.
//!
//! Connections belong to the first runtime. A request that is not urgent is handed over with its body, and its answer comes
//! back; a body that is made piece by piece is made over there, too. Long computations take a permit beside that, so that
//! they do not hold up other requests of the same runtime ([`crate::service::compute_permits`]).

use std::sync::LazyLock;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::Method;
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

/// Pieces of a body that wait for their client before the next one is made.
const WAITING_PIECES: usize = 2;

/// One for the process, like its threads; without it requests are answered beside urgent ones.
static ORDINARY: LazyLock<Option<Runtime>> = LazyLock::new(|| {
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

/// True for what schedulers, probes and people who sign in wait for: sequences, reports of kernels, health and sessions.
pub fn is_urgent(method: &Method, path: &str) -> bool {
    let is_sequence = method == Method::POST && path.ends_with("/sequence");
    matches!(path, "/healthz" | "/readyz" | "/ui/session") || is_sequence || is_kernel_report(method, path)
}

/// True for reports of kernels, whose bodies are read row by row.
pub fn is_kernel_report(method: &Method, path: &str) -> bool {
    method == Method::POST && (path.ends_with("/kernels") || path.ends_with("/kernels/snapshot"))
}

/// Answers a request with `router` on the threads for its kind.
pub async fn answer(router: Router, request: Request) -> Response {
    let runtime = match &*ORDINARY {
        Some(runtime) if !is_urgent(request.method(), request.uri().path()) => runtime.handle(),
        _ => return router.oneshot(request).await.into_response(),
    };
    // A client that goes away ends the work for it.
    let answering = AbortOnDropHandle::new(runtime.spawn(router.oneshot(request)));
    match answering.await {
        Ok(response) => response.into_response().map(|body| made_on(runtime, body)),
        Err(error) => layers::panicked(Box::new(error)),
    }
}

/// A body whose pieces are made on `runtime`. A body that is there already stays as it is.
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
        // A client that has gone needs no end.
        let _ = sender.send(None).await;
    });
    Body::new(StreamBody::new(unfold(Some(receiver), next_piece)))
}

type Piece = Result<Frame<Bytes>, Error>;

/// The next piece, and where those after it come from. A body that broke off has an error at its end, so that its client
/// does not take it for whole.
async fn next_piece(receiver: Option<Receiver<Option<Piece>>>) -> Option<(Piece, Option<Receiver<Option<Piece>>>)> {
    let mut receiver = receiver?;
    match receiver.recv().await {
        Some(Some(piece)) => Some((piece, Some(receiver))),
        Some(None) => None,
        None => Some((Err(Error::new(BoxError::from("the answer broke off"))), None)),
    }
}
