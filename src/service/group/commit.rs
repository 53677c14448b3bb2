//! How a session ends: everything is committed and published, or nothing leaves a trace.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::live_kernels::LiveKernels;
use super::published::PublishedGroup;
use super::session::Session;
use crate::domain::ids::Owner;
use crate::service::Result;
use crate::service::work::{blocking, free_aside};
use crate::store::{self, groups};

impl Session {
    /// Does `change` and ends the session: commits what was changed, or leaves no trace if that failed.
    pub async fn conclude<T>(
        mut self,
        change: impl AsyncFnOnce(&mut Self) -> Result<T>,
    ) -> Result<(T, Option<Arc<PublishedGroup>>)> {
        match change(&mut self).await {
            Ok(value) => Ok((value, self.finish().await?)),
            Err(error) => {
                self.release();
                Err(error)
            }
        }
    }

    /// Readers see all that the session saw, also what another process wrote, whether it changed anything or not.
    async fn finish(self) -> Result<Option<Arc<PublishedGroup>>> {
        let group = &self.state.group;
        let seen = groups::Revisions {
            created_at: group.created_at,
            shares: group.shares_revision,
            // The session's lock has raised it by one.
            kernels: group.kernels_revision - 1,
        };
        if !self.has_changed() {
            let shown = self.service.published.get(&group.name).filter(|shown| shown.facts.revisions() == seen);
            if shown.is_some() {
                self.release();
                return Ok(shown);
            }
        }
        self.commit().await
    }

    fn has_changed(&self) -> bool {
        self.touched
            || self.rows_changed
            || self.deleted
            || self.written.load(Ordering::Relaxed)
            || !self.changed_shares.is_empty()
    }

    /// Ends the session without a commit. The state is kept unless it was changed, so that a refused request costs no
    /// reload.
    pub fn release(self) {
        let Self { mut slot, tx, mut state, touched, .. } = self;
        drop(tx);
        if !touched {
            state.group.kernels_revision -= 1;
            *slot = Some(state);
        }
    }

    /// Stores what changed, commits, and publishes. Returns the group's picture; `None`: the group was removed.
    pub async fn commit(mut self) -> Result<Option<Arc<PublishedGroup>>> {
        let moved = self.save().await?;
        if let Some(work) = &self.work {
            work.check_fence(&self.tx).await?;
        }
        let before = self.service.published.get(self.group());
        let before = before.filter(|group| group.facts.revisions().created_at == self.state.group.created_at);
        let mut kernels = before.as_ref().and_then(|before| self.kernels_after(before));
        let is_run = self.work.is_some();
        let Self { service, mut slot, tx, mut state, loaded, people, starts, deleted, now, .. } = self;
        let mut picture = || match (&moved, &before) {
            (None, Some(old)) if old.facts.revision == state.group.shares_revision => {
                old.with_queues(&state, kernels.take())
            }
            (Some(moved), Some(old)) if old.facts.revision == loaded.shares_revision => {
                blocking(|| old.after(moved, &state, &service.people.read(), kernels.take()))
            }
            (moved, _) => {
                if moved.is_none() {
                    state.hierarchy.weigh(state.options.default_weight);
                }
                blocking(|| PublishedGroup::build(&state, &service.people.read(), kernels.take()))
            }
        };
        // The picture is made while the database commits, unless it shows people whom only the commit makes known.
        let early = async { (people.is_none() && !deleted).then(&mut picture) };
        // From here on the database decides; on failure the slot stays empty and the next session reads the truth.
        let (committed, early) = futures::future::join(tx.commit(), early).await;
        committed.map_err(store::StoreError::from)?;
        if let Some((lock, people)) = people {
            service.people.committed(people, lock.revision);
        }
        service.people.starts_noted(starts);
        if deleted {
            service.published.remove(&state.group.name);
            return Ok(None);
        }
        let published = Arc::new(early.unwrap_or_else(picture));
        state.ledger.forget_before(state.options.window_start(now.day()));
        *slot = Some(state);
        service.published.put(&published);
        // To free what only the picture before had takes a while, for which a client need not wait. A run frees it where it was
        // made: what another thread frees is given back later.
        if is_run {
            drop(before);
        } else {
            free_aside(before);
        }
        Ok(Some(published))
    }

    /// Stores what differs from what was loaded. Returns whose shares have changed, if any of them, or what is shown of them,
    /// has.
    async fn save(&mut self) -> Result<Option<Vec<Owner>>> {
        let (name, now) = (self.state.group.name.clone(), self.now);
        if self.deleted {
            return Ok(None);
        }
        self.state.group.config_revision += i64::from(self.reconfigured);
        self.save_ended().await?;
        let changes = self.state.ledger.take_changes();
        if !changes.is_empty() {
            store::buckets::delete(&self.tx, &name, &changes.deletes).await?;
            store::buckets::save(&self.tx, &name, &self.state.ledger, &changes.upserts, now).await?;
            store::capacity::save(&self.tx, &name, self.state.ledger.calendar(), &changes.capacity_days).await?;
        }
        let shares_changed = !changes.is_empty()
            || self.rows_changed
            || !self.changed_shares.is_empty()
            || !self.loaded.has_same_conditions(&self.state.group);
        let mut moved = None;
        if shares_changed {
            moved = Some(self.save_shares().await?);
            self.state.group.shares_revision += 1;
        }
        groups::save(&self.tx, &self.loaded, &self.state.group, now).await?;
        Ok(moved)
    }

    /// Calculates factors where they may have changed, and stores every share whose numbers did. Returns whose may have.
    async fn save_shares(&mut self) -> Result<Vec<Owner>> {
        let state = &mut self.state;
        let weighed = blocking(|| state.hierarchy.weigh(state.options.default_weight));
        self.changed_shares.weighed.extend(weighed.refactored);
        let name = &state.group.name;
        store::shares::save(&self.tx, name, &state.hierarchy, &self.changed_shares, self.now).await?;
        Ok(weighed.moved)
    }

    /// The kernels of the picture `before` and what this session made of them, if no other writer came in between.
    fn kernels_after(&mut self, before: &PublishedGroup) -> Option<LiveKernels> {
        let follows = before.facts.kernels_revision + 1 == self.state.group.kernels_revision;
        let changes = self.kernels.take().filter(|_| follows)?;
        before.live.known_kernels()?.after(changes)
    }
}
