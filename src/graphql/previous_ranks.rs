//! The ranks of the day before, for all rows of an answer together: rows that are resolved side by side ask in one statement.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;

use crate::domain::ids::{GroupKey, Owner};
use crate::service::rank_movement::Ranks;
use crate::service::{Result, Service, VisibleGroup};

/// Rows that ask together, and what they are told.
#[derive(Default)]
struct Round {
    owners: Mutex<Vec<Owner>>,
    ranks: OnceCell<Result<Ranks>>,
}

/// The rounds of one request that rows can still join.
#[derive(Default)]
pub struct PreviousRanks(Mutex<HashMap<GroupKey, Arc<Round>>>);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PreviousRanks {
    /// The rank that the day before left of `owner`, if it left one.
    pub async fn of(&self, service: &Service, group: &VisibleGroup, owner: &Owner) -> Result<Option<u32>> {
        let round = Arc::clone(lock(&self.0).entry(group.key).or_default());
        lock(&round.owners).push(owner.clone());
        // The rows beside this one come to the same point before anything is asked.
        tokio::task::yield_now().await;
        let ask = || async {
            lock(&self.0).retain(|_, open| !Arc::ptr_eq(open, &round));
            let owners = std::mem::take(&mut *lock(&round.owners));
            service.previous_ranks(group, &owners).await
        };
        let ranks = round.ranks.get_or_init(ask).await;
        ranks.as_ref().map(|ranks| ranks.get(owner).copied()).map_err(Clone::clone)
    }
}
