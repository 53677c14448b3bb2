//! A copy of a group's state with its snapshot, on which simulations work. Writers go on with the original state.

use std::sync::Arc;

use super::snapshots::GroupSnapshot;
use super::state::GroupState;
use crate::engine::FairShareEngine;
use crate::engine::error::{Error, Result};
use crate::store::{Tx, groups};

/// A state that no other task uses, its snapshot, and a database transaction that reads as of the same moment.
pub struct StateFork {
    pub state: GroupState,
    pub group_snapshot: Arc<GroupSnapshot>,
    pub snapshot: Tx,
}

impl FairShareEngine {
    /// Forks the group as it is stored. Readers see the same state, or will see it once it is published.
    pub(crate) async fn fork(&self, name: &str) -> Result<StateFork> {
        let unknown = || Error::unknown_group(name);
        self.published.get(name).ok_or_else(unknown)?;
        let mut slot = self.slot(name).lock_owned().await;
        let snapshot = self.store.begin_snapshot().await?;
        let stored = groups::find(&snapshot, name).await?.ok_or_else(unknown)?;
        let shown = self.published.get(name).map(|shown| shown.facts.revisions());
        let is_current = slot.as_ref().is_some_and(|state| {
            shown == Some(stored.revisions()) && state.is_of(&stored) && !state.is_behind(&self.people.read())
        });
        if !is_current {
            self.reload(&snapshot, name, &mut slot).await?;
        }
        let state = slot.as_ref().ok_or_else(unknown)?.fork();
        let group_snapshot = self.published.get(name).ok_or_else(unknown)?;
        Ok(StateFork { state, group_snapshot, snapshot })
    }
}
