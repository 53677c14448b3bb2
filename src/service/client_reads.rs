//! Reads of the database for clients.
//!
//! The connections are few, and a page of a long list takes one for up to a second. Without a limit the lists of one client
//! would take them all, and a report of kernels, a sign-in or a heartbeat would wait behind them. So lists and reports for
//! clients use a part of the connections only, and no client has more than half of that part at a time, rounded up.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::Service;
use super::access::ClientId;
use super::access::client_semaphores::ClientSemaphores;
use crate::store::{ClientReadLimit, StoreConnection};

/// The turns of clients to read the database, of all together and of each.
#[derive(Debug)]
pub struct ClientReadTurns {
    all: Arc<Semaphore>,
    shares: ClientSemaphores,
}

impl ClientReadTurns {
    /// Turns for `connections` reads at a time.
    pub fn new(connections: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(connections)), shares: ClientSemaphores::new(connections.div_ceil(2)) }
    }
}

impl Service {
    /// Connections for what `client` reads, within its share.
    pub(in crate::service) fn reads_for(&self, client: ClientId) -> StoreConnection {
        let (of_client, of_all) = (self.read_turns.shares.semaphore_of(client), Arc::clone(&self.read_turns.all));
        self.store().read().limited(ClientReadLimit { of_client, of_all })
    }
}
