//! The time limits of a connection: for the head of a request, between two requests, and while the client does not read
//! a response. The time in handlers is not limited here.

use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::http::Version;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, sleep_until};

use super::limits::ConnectionLimits;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// A head has begun to arrive, or the connection is new.
    Head,
    /// Handlers work on requests.
    Handled,
    /// A response is being written, or the next request is awaited.
    Waiting,
}

struct ConnectionState {
    phase: Phase,
    /// The start of the phase, from which its limit counts.
    since: Instant,
    /// The number of requests that handlers work on.
    in_progress: usize,
    /// True once the client has sent a request of HTTP/2. Its frames are not only heads of requests.
    is_http2: bool,
}

/// The phase of one connection.
pub struct ConnectionTimeouts {
    limits: ConnectionLimits,
    state: Mutex<ConnectionState>,
}

/// A request that a handler works on, until this is dropped.
pub struct RequestInProgress(Arc<ConnectionTimeouts>);

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.in_progress -= 1;
        if state.in_progress == 0 {
            state.begin(Phase::Waiting);
        }
    }
}

impl ConnectionState {
    fn begin(&mut self, phase: Phase) {
        (self.phase, self.since) = (phase, Instant::now());
    }
}

impl ConnectionTimeouts {
    pub fn new(limits: ConnectionLimits) -> Arc<Self> {
        let state = ConnectionState { phase: Phase::Head, since: Instant::now(), in_progress: 0, is_http2: false };
        Arc::new(Self { limits, state: Mutex::new(state) })
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the whole head of a request has arrived.
    pub fn begin_request(self: &Arc<Self>, version: Version) -> RequestInProgress {
        let mut state = self.lock();
        state.in_progress += 1;
        state.is_http2 = version == Version::HTTP_2;
        state.begin(Phase::Handled);
        RequestInProgress(Arc::clone(self))
    }

    /// Notes that bytes were read from the client.
    fn note_read(&self) {
        let mut state = self.lock();
        if state.phase == Phase::Waiting {
            let next = if state.is_http2 { Phase::Waiting } else { Phase::Head };
            state.begin(next);
        }
    }

    /// Notes that bytes were written to the client.
    fn note_write(&self) {
        let mut state = self.lock();
        if state.phase == Phase::Waiting {
            state.begin(Phase::Waiting);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let state = self.lock();
        match state.phase {
            Phase::Head => Some(state.since + self.limits.head),
            Phase::Waiting => Some(state.since + self.limits.idle),
            Phase::Handled => None,
        }
    }

    /// Returns once the client has exceeded the limit of a phase.
    pub async fn overdue(&self) {
        // A phase that begins after this moment ends no sooner than after the shorter limit, so that waking up at this
        // interval is often enough.
        let shorter = self.limits.head.min(self.limits.idle);
        loop {
            let now = Instant::now();
            let look = now + shorter;
            match self.deadline() {
                Some(deadline) if deadline <= now => return,
                deadline => sleep_until(deadline.unwrap_or(look).min(look)).await,
            }
        }
    }
}

/// A stream that reports its traffic to its [`ConnectionTimeouts`].
pub struct TimedStream<S> {
    stream: S,
    pace: Arc<ConnectionTimeouts>,
}

impl<S> TimedStream<S> {
    pub fn new(stream: S, pace: Arc<ConnectionTimeouts>) -> Self {
        Self { stream, pace }
    }

    fn note_write(&self, written: &Poll<Result<usize>>) {
        if matches!(written, Poll::Ready(Ok(_))) {
            self.pace.note_write();
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.pace.note_read();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note_write(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.note_write(&written);
        written
    }

    /// Without vectored writes hyper would copy a body that many clients share for each of them.
    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
