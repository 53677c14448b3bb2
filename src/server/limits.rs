//! How much clients may ask of connections.

use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Connections at once; what comes beyond them is answered 503.
    pub most: usize,
    /// How long the head of a request may take to arrive.
    pub head: Duration,
    /// How long a connection may wait for its next request, or for its client to go on reading.
    pub idle: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self { most: 4096, head: Duration::from_secs(10), idle: Duration::from_secs(75) }
    }
}
