//! The body of a response, which notes on the clock of its connection how fast the client takes it.
//!
//! hyper takes a whole piece of a body as soon as the client's window lets one byte pass, and drops the body with its last
//! piece. The pieces themselves therefore note what happens to them: hyper advances a piece as it writes it to the connection,
//! and drops it when all of it is written or when the client has taken the request back.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Buf, Frame, SizeHint};

use super::connection_clock::ConnectionClock;

/// The body of one response.
pub struct WatchedBody {
    body: Body,
    clock: Arc<ConnectionClock>,
    /// The number of the response among those of its connection.
    response: u64,
}

impl WatchedBody {
    pub fn new(body: Body, clock: Arc<ConnectionClock>) -> Self {
        let response = clock.next_response();
        Self { body, clock, response }
    }
}

impl HttpBody for WatchedBody {
    type Data = WatchedBytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<WatchedBytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        let watch = |bytes| WatchedBytes::new(bytes, Arc::clone(&self.clock), self.response);
        frame.map_ok(|frame| frame.map_data(watch))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A piece of a body that the client has not taken as a whole.
pub struct WatchedBytes {
    bytes: Bytes,
    clock: Arc<ConnectionClock>,
    response: u64,
}

impl WatchedBytes {
    fn new(bytes: Bytes, clock: Arc<ConnectionClock>, response: u64) -> Self {
        clock.begin_piece(response);
        Self { bytes, clock, response }
    }
}

impl Buf for WatchedBytes {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        self.clock.note_progress(self.response);
    }
}

impl Drop for WatchedBytes {
    fn drop(&mut self) {
        self.clock.end_piece(self.response);
    }
}
