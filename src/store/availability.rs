//! Whether the database is within reach: while it is not, statements fail at once instead of waiting for it.

use std::sync::Arc;
use std::time::Duration;

use sea_orm::DbErr;
use tokio::sync::watch;
use tokio::time::Instant;

use super::fault::Fault;

/// Shared by all connections of a store.
#[derive(Clone, Debug)]
pub struct DatabaseAvailability(Arc<watch::Sender<State>>);

/// `None`: the database is within reach; else when it answered last.
pub type State = Option<Instant>;

impl Default for DatabaseAvailability {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl DatabaseAvailability {
    /// How long ago the database answered last, while it is out of reach.
    pub fn silence(&self) -> Option<Duration> {
        self.0.borrow().map(|at| at.elapsed())
    }

    /// Tells when the database comes into or out of reach.
    pub fn subscribe(&self) -> watch::Receiver<State> {
        self.0.subscribe()
    }

    /// The database is out of reach; returns whether that is news.
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

    /// What `statement` answers, unless the database is or comes out of reach meanwhile: whether it was carried out is
    /// not known then.
    pub(super) async fn race<T>(&self, statement: impl Future<Output = Result<T, DbErr>>) -> Result<T, DbErr> {
        let mut state = self.0.subscribe();
        if state.borrow_and_update().is_some() {
            return Err(Fault::Unreachable.refusal());
        }
        tokio::select! {
            biased;
            outcome = statement => outcome,
            () = gone(&mut state) => Err(Fault::Unreachable.refusal()),
        }
    }

    /// Returns when the database is out of reach.
    pub(super) async fn is_lost(&self) {
        gone(&mut self.0.subscribe()).await;
    }
}

async fn gone(state: &mut watch::Receiver<State>) {
    if state.wait_for(Option::is_some).await.is_err() {
        std::future::pending::<()>().await;
    }
}
