//! The time limits of a connection: for the head of a request, between two requests, and while the client does not read
//! a response. The time in handlers is not limited here.
//!
//! With HTTP/2 a client may read one response and leave another one unread, or hold a response back with a window of 0 while it
//! sends PINGs. Traffic on the connection therefore says nothing about a response: each one that the client has not taken as a
//! whole has a time of its own, and the limit counts for it whatever else happens on the connection.
//!
//! hyper's limit for heads (`header_read_timeout`) also counts the time between two requests, exists for HTTP/1 alone, and
//! begins only when the version of HTTP is known. This clock has a limit for each kind of waiting, from the first moment of
//! a connection on, and the same for both versions.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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
    /// The number of requests that handlers work on. With HTTP/2 there may be several. While it is not 0, no limit counts but
    /// that of unread responses.
    handled_requests: usize,
    /// The number of the next response.
    next_response: u64,
    /// The responses of which hyper has pieces that the client has not taken, by number.
    unread_responses: BTreeMap<u64, UnreadResponse>,
    /// True for a new connection, and with HTTP/1 from the first byte of a further request until its handler begins. With HTTP/2
    /// a byte after a response need not belong to a request, because the client also acknowledges what it has received.
    awaits_head: bool,
    speaks_http2: bool,
    /// The moment from which the limit of the present wait counts.
    since: Instant,
}

struct UnreadResponse {
    /// The number of pieces that hyper holds.
    pieces: usize,
    /// The last moment at which the client took a part of the response, or at which its first piece was ready.
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
        let state = ClockState {
            handled_requests: 0,
            next_response: 0,
            unread_responses: BTreeMap::new(),
            awaits_head: true,
            speaks_http2: false,
            since: Instant::now(),
        };
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

    /// A number for a further response of this connection.
    pub fn next_response(&self) -> u64 {
        let mut state = self.state();
        state.next_response += 1;
        state.next_response
    }

    /// Call this when a piece of a response's body is ready.
    pub fn begin_piece(&self, response: u64) {
        let begun = UnreadResponse { pieces: 0, since: Instant::now() };
        self.state().unread_responses.entry(response).or_insert(begun).pieces += 1;
    }

    /// Call this when the client has taken a part of a piece.
    pub fn note_progress(&self, response: u64) {
        if let Some(unread) = self.state().unread_responses.get_mut(&response) {
            unread.since = Instant::now();
        }
    }

    /// Call this when the client has taken a whole piece, or never will.
    pub fn end_piece(&self, response: u64) {
        let mut state = self.state();
        if let Some(unread) = state.unread_responses.get_mut(&response) {
            unread.pieces -= 1;
            if unread.pieces == 0 {
                state.unread_responses.remove(&response);
            }
        }
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
        let waiting = (state.handled_requests == 0).then(|| state.since + limit);
        let unread = state.unread_responses.values().map(|unread| unread.since + self.limits.idle).min();
        waiting.into_iter().chain(unread).min()
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

    /// Returns once no request has been in progress for `time`, counted from now on.
    pub async fn unused_for(&self, time: Duration) {
        let start = Instant::now();
        loop {
            let since = self.last_use().max(start);
            if since.elapsed() >= time {
                return;
            }
            sleep_until(since + time).await;
        }
    }

    /// The last moment of traffic for a request: now while one is in progress.
    fn last_use(&self) -> Instant {
        let state = self.state();
        let in_progress = state.handled_requests > 0 || !state.unread_responses.is_empty();
        if in_progress { Instant::now() } else { state.since }
    }

    fn state(&self) -> MutexGuard<'_, ClockState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
