//! The limits of connections.

use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Open connections at the same time. Further ones are answered with 503.
    pub most: usize,
    /// How long the head of a request may take to arrive.
    pub head: Duration,
    /// How long a connection may wait for its next request, or for its client to read more of a response.
    pub idle: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self { most: 4096, head: Duration::from_secs(10), idle: Duration::from_secs(75) }
    }
}
