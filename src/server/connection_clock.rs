//! The time limits of a connection: for the head of a request, between two requests, and while the client does not read
//! a response. The time in handlers is not limited here.
//!
//! hyper's limit for heads (`header_read_timeout`) also counts the time between two requests, exists for HTTP/1 alone, and
//! begins only when the version of HTTP is known. This clock has a limit for each kind of waiting, from the first moment of
//! a connection on, and the same for both versions.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::Version;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep_until};
use tokio_util::io::{InspectReader, InspectWriter};

use super::limits::ConnectionLimits;

/// The clock of one connection.
pub struct ConnectionClock {
    limits: ConnectionLimits,
    state: Mutex<ClockState>,
}

struct ClockState {
    /// The number of requests that handlers work on. With HTTP/2 there may be several. While it is not 0, no limit counts.
    handled_requests: usize,
    /// True for a new connection, and with HTTP/1 from the first byte of a further request until its handler begins. With HTTP/2
    /// a byte after a response need not belong to a request, because the client also acknowledges what it has received.
    awaits_head: bool,
    speaks_http2: bool,
    /// The moment from which the limit of the present wait counts.
    since: Instant,
}

/// Held while a handler works on a request. A request that ends without a response, because the client has taken it back,
/// drops this as well.
pub struct HandledRequest(Arc<ConnectionClock>);

impl Drop for HandledRequest {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.handled_requests -= 1;
        state.since = Instant::now();
    }
}

impl ConnectionClock {
    pub fn new(limits: ConnectionLimits) -> Arc<Self> {
        let state = ClockState { handled_requests: 0, awaits_head: true, speaks_http2: false, since: Instant::now() };
        Arc::new(Self { limits, state: Mutex::new(state) })
    }

    /// Call this when the whole head of a request has arrived, and keep the returned value until its handler has
    /// returned a response.
    pub fn begin_request(self: &Arc<Self>, version: Version) -> HandledRequest {
        let mut state = self.state();
        state.handled_requests += 1;
        state.awaits_head = false;
        state.speaks_http2 = version == Version::HTTP_2;
        HandledRequest(Arc::clone(self))
    }

    /// The stream of the connection, which notes its traffic on this clock.
    pub fn observe<S>(self: &Arc<Self>, stream: S) -> impl AsyncRead + AsyncWrite + Unpin + Send + use<S>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let (read, written) = (Arc::clone(self), Arc::clone(self));
        let reader = InspectReader::new(stream, move |bytes: &[u8]| {
            if !bytes.is_empty() {
                read.note_read();
            }
        });
        InspectWriter::new(reader, move |_: &[u8]| written.note_write())
    }

    fn note_read(&self) {
        let mut state = self.state();
        if state.handled_requests == 0 && !state.awaits_head && !state.speaks_http2 {
            state.awaits_head = true;
            state.since = Instant::now();
        }
    }

    fn note_write(&self) {
        let mut state = self.state();
        if !state.awaits_head {
            state.since = Instant::now();
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let state = self.state();
        let limit = if state.awaits_head { self.limits.head } else { self.limits.idle };
        (state.handled_requests == 0).then(|| state.since + limit)
    }

    /// Returns once the client has exceeded a limit.
    pub async fn overdue(&self) {
        // A wait that begins after this moment ends no sooner than after the shorter limit, so that waking up at this
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

    fn state(&self) -> MutexGuard<'_, ClockState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
