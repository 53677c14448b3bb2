//! The end of a transaction of the group: everything is committed and published, or nothing is kept.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::future::join;

use super::live_kernels::LiveKernels;
use super::snapshots::GroupSnapshot;
use super::state::GroupState;
use super::transaction::GroupTransaction;
use crate::domain::ids::Owner;
use crate::domain::ledger::Ledger;
use crate::engine::error::{Error, Result};
use crate::engine::work::{drop_in_background, join_with_compute, run_blocking};
use crate::store::{self, groups};

impl GroupTransaction {
    /// Runs `change` and ends the transaction: commits the changes, or rolls back if `change` failed.
    pub async fn run<T>(
        mut self,
        change: impl AsyncFnOnce(&mut Self) -> Result<T>,
    ) -> Result<(T, Option<Arc<GroupSnapshot>>)> {
        match change(&mut self).await {
            // Boxed, because otherwise the future of every use-case that writes would be as large as that of the commit.
            Ok(value) => Ok((value, Box::pin(self.finish()).await?)),
            Err(error) => {
                self.rollback();
                Err(error)
            }
        }
    }

    /// Publishes the state that the transaction has read, whether it changed anything or not, because another process may
    /// have written it.
    async fn finish(self) -> Result<Option<Arc<GroupSnapshot>>> {
        if !self.has_changed() {
            let seen = self.state.group.revisions();
            let shown = self.engine.published.get(self.group()).filter(|shown| shown.facts.revisions() == seen);
            if shown.is_some() {
                self.rollback();
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

    /// Ends the transaction without a commit. An unchanged state stays in memory, so that a refused request causes no
    /// reload.
    pub fn rollback(self) {
        let Self { mut slot, tx, state, touched, .. } = self;
        drop(tx);
        if !touched {
            *slot = Some(state);
        }
    }

    /// Stores the changes, commits, and publishes. Returns the group's snapshot; `None`: the group was removed.
    pub async fn commit(mut self) -> Result<Option<Arc<GroupSnapshot>>> {
        let moved = if self.deleted { None } else { self.save_buckets().await? };
        let before = self.engine.published.get(self.group());
        let before = before.filter(|group| group.facts.revisions().created_at == self.state.group.created_at);
        let is_shown = before.as_ref().is_some_and(|old| old.facts.revision == self.state.group.shares_revision);
        if moved.is_none() && !is_shown {
            let terms = self.state.weighing_terms();
            self.state.hierarchy.weigh(terms);
        }
        let kernels = before.as_ref().and_then(|before| self.kernels_after(before));
        let is_run = self.work.is_some();
        let Self {
            engine,
            mut slot,
            tx,
            mut state,
            loaded,
            people,
            starts,
            deleted,
            has_more_steps,
            now,
            changed_shares,
            work,
            ..
        } = self;
        let save = Box::pin(async {
            if !deleted {
                store::shares::save(&tx, &loaded, &state.hierarchy, &changed_shares, now).await?;
                groups::save(&tx, &loaded, &state.group, now).await?;
            }
            if let Some(work) = &work {
                work.check_fence(&tx).await?;
            }
            // From here on the database decides. If this fails, the slot stays empty and the next transaction reads the
            // state from the database.
            tx.commit().await.map_err(store::StoreError::from)?;
            Ok::<_, Error>(())
        });
        let group_snapshot = |kernels: Option<LiveKernels>| match (&moved, &before) {
            (None, Some(old)) if is_shown => old.with_queues(&state, kernels),
            (Some(moved), Some(old)) if old.facts.revision == loaded.shares_revision => {
                old.after(moved, &state, &engine.people.read(), kernels)
            }
            _ => GroupSnapshot::build(&state, &engine.people.read(), kernels),
        };
        if deleted {
            save.await?;
            engine.published.remove(&loaded.name);
            return Ok(None);
        }
        let published = if let Some((lock, people)) = people {
            // The snapshot shows people who become known only by the commit.
            save.await?;
            engine.people.committed(people, lock);
            run_blocking(|| group_snapshot(kernels))
        } else if moved.is_some() {
            let (saved, early) = join_with_compute(save, || group_snapshot(kernels)).await;
            saved?;
            // A person may have been renamed meanwhile.
            let is_right = early.facts.rows.show(&engine.people.read());
            if is_right { early } else { run_blocking(|| group_snapshot(early.live.known_kernels())) }
        } else {
            let (saved, same_rows) = join(save, async { group_snapshot(kernels) }).await;
            saved?;
            same_rows
        };
        engine.people.starts_noted(starts);
        let published = Arc::new(published);
        if !has_more_steps {
            state.ledger.forget_before(state.options.window_start(now.day()));
        }
        *slot = Some(state);
        engine.published.put(&published);
        // Freeing the data that only the previous snapshot had takes a while, and a client need not wait for it. A run frees
        // it on its own thread, because the allocator returns memory late that another thread frees.
        if is_run {
            drop(before);
        } else {
            drop_in_background(before);
        }
        Ok(Some(published))
    }

    /// Stores buckets, while histories and factors are calculated where they may have changed. Returns the owners whose
    /// shares have changed; `None` if neither shares nor the rows that readers see have changed.
    async fn save_buckets(&mut self) -> Result<Option<Vec<Owner>>> {
        let group = &mut self.state.group;
        group.kernels_revision = group.kernels_revision.next();
        if self.reconfigured {
            group.config_revision = group.config_revision.next();
        }
        self.save_ended().await?;
        let changes = self.state.ledger.take_changes();
        if changes.is_empty() {
            // The histories decide whether anything is stored.
            run_blocking(|| self.take_histories());
        }
        let shares_changed = !changes.is_empty()
            || self.rows_changed
            || !self.changed_shares.is_empty()
            || !self.loaded.has_same_conditions(&self.state.group);
        if !shares_changed {
            return Ok(None);
        }
        let Self { tx, state, changed_shares, histories, now, .. } = self;
        let terms = state.weighing_terms();
        let GroupState { group, ledger, hierarchy, options, .. } = state;
        let ledger: &Ledger = ledger;
        let save = Box::pin(async {
            store::buckets::delete(tx, &group.name, &changes.deletes).await?;
            store::buckets::save(tx, &group.name, ledger, &changes.upserts, *now).await?;
            store::capacity::save(tx, &group.name, ledger.calendar(), &changes.capacity_days).await
        });
        let calculate = || {
            let changed = histories.take().map(|histories| histories.take(ledger, hierarchy, options));
            (changed, hierarchy.weigh(terms))
        };
        let (saved, (changed, weighed)) = join_with_compute(save, calculate).await;
        saved?;
        changed_shares.extend(changed.into_iter().flatten().chain(weighed.refactored));
        group.shares_revision = group.shares_revision.next();
        Ok(Some(weighed.moved))
    }

    /// The kernels of the snapshot `before` with the changes of this transaction, if no other writer came in between.
    fn kernels_after(&mut self, before: &GroupSnapshot) -> Option<LiveKernels> {
        let follows = before.facts.kernels_revision == self.loaded.kernels_revision;
        let changes = self.kernels.take().filter(|_| follows)?;
        before.live.known_kernels()?.after(changes)
    }
}
