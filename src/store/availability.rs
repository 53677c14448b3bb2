//! The availability of the database: while it does not answer, statements fail at once instead of waiting for it.

use std::sync::Arc;
use std::time::Duration;

use sea_orm::DbErr;
use tokio::sync::watch;
use tokio::time::Instant;

use super::fault::TransientFault;

/// Shared by all connections of a store.
#[derive(Clone, Debug)]
pub struct DatabaseAvailability(Arc<watch::Sender<SilentSince>>);

/// `None`: the database answers; otherwise the time of its last answer.
pub type SilentSince = Option<Instant>;

impl Default for DatabaseAvailability {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl DatabaseAvailability {
    /// The time since the last answer of a database that does not answer; `None`: it answers.
    pub fn silence(&self) -> Option<Duration> {
        self.0.borrow().map(|at| at.elapsed())
    }

    /// Receives every change of the availability.
    pub fn subscribe(&self) -> watch::Receiver<SilentSince> {
        self.0.subscribe()
    }

    /// Notes that the database does not answer. Returns true if it answered before.
    pub(super) fn lost(&self, answered: Instant) -> bool {
        self.0.send_if_modified(|state| {
            let news = state.is_none();
            *state = state.or(Some(answered));
            news
        })
    }

    pub(super) fn found(&self) {
        self.0.send_if_modified(|state| state.take().is_some());
    }

    /// Awaits `statement`, unless the database does not answer or stops answering meanwhile. In that case the outcome of the
    /// statement is unknown.
    pub(super) async fn race<T>(&self, statement: impl Future<Output = Result<T, DbErr>>) -> Result<T, DbErr> {
        let mut state = self.0.subscribe();
        if state.borrow_and_update().is_some() {
            return Err(TransientFault::Unreachable.refusal());
        }
        tokio::select! {
            biased;
            outcome = statement => outcome,
            () = wait_until_gone(&mut state) => Err(TransientFault::Unreachable.refusal()),
        }
    }

    /// Returns once the database does not answer.
    pub(super) async fn is_lost(&self) {
        wait_until_gone(&mut self.0.subscribe()).await;
    }
}

async fn wait_until_gone(state: &mut watch::Receiver<SilentSince>) {
    if state.wait_for(Option::is_some).await.is_err() {
        std::future::pending::<()>().await;
    }
}
