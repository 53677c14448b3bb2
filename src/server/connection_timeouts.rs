//! The time limits of a connection: for the head of a request, between two requests, and while the client does not read
//! a response. The time in handlers is not limited here.

use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, sleep_until};

use super::limits::ConnectionLimits;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// A head has begun to arrive, or the connection is new.
    Head,
    /// A handler works on a request.
    Handled,
    /// A response is being written, or the next request is awaited.
    Waiting,
}

/// The phase of one connection, and its start. The limit of the phase counts from there.
pub struct ConnectionTimeouts {
    limits: ConnectionLimits,
    state: Mutex<(Phase, Instant)>,
}

impl ConnectionTimeouts {
    pub fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { limits, state: Mutex::new((Phase::Head, Instant::now())) })
    }

    /// Call this when the whole head of a request has arrived.
    pub fn note_handled(&self) {
        self.change(|_| Some(Phase::Handled));
    }

    /// Call this when the handler has returned a response.
    pub fn note_answer(&self) {
        self.change(|_| Some(Phase::Waiting));
    }

    /// Restarts the clock if `next` returns a phase, even if it is the current one.
    fn change(&self, next: impl FnOnce(Phase) -> Option<Phase>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(phase) = next(state.0) {
            *state = (phase, Instant::now());
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let (phase, since) = *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match phase {
            Phase::Head => Some(since + self.limits.head),
            Phase::Waiting => Some(since + self.limits.idle),
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
            self.pace.change(|phase| (phase == Phase::Waiting).then_some(Phase::Waiting));
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.pace.change(|phase| (phase == Phase::Waiting).then_some(Phase::Head));
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
