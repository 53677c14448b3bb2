//! Leases: one process at a time may run a job in a group, for as long as the process lives.

use std::sync::Arc;

use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use crate::domain::time::Timestamp;
use crate::engine::FairShareEngine;
use crate::engine::error::{Error, Result};
use crate::process::name::name;
use crate::store::holders::{BEAT_EVERY, JobHolder};
use crate::store::{self, ConnectionTrait};

pub use crate::store::leases::LeaseFence;

/// The object of a run: a group, and the lease under which the run writes if it has one.
#[derive(Clone, Debug)]
pub struct LeasedWork {
    pub group: String,
    pub fence: Option<LeaseFence>,
}

impl From<&str> for LeasedWork {
    fn from(group: &str) -> Self {
        Self { group: group.to_owned(), fence: None }
    }
}

impl From<&String> for LeasedWork {
    fn from(group: &String) -> Self {
        group.as_str().into()
    }
}

impl LeasedWork {
    /// Refuses the writes of a run whose lease another process has taken. From here on no process can take the lease until
    /// the transaction ends.
    pub(crate) async fn check_fence(&self, tx: &impl ConnectionTrait) -> Result<()> {
        match &self.fence {
            Some(fence) if !store::leases::is_held(tx, fence).await? => Err(Error::Conflict {
                code: "lease_lost",
                detail: format!(
                    "another process has taken over {}; what this run had not stored was not kept",
                    fence.lease
                ),
            }),
            _ => Ok(()),
        }
    }
}

/// The registration of this process among those that run jobs.
pub struct ProcessPresence {
    holder: Arc<JobHolder>,
    _beats: AbortOnDropHandle<()>,
}

impl ProcessPresence {
    pub fn id(&self) -> Uuid {
        self.holder.id
    }
}

/// The result of a request for a lease.
#[derive(Debug)]
pub enum LeaseResult {
    Taken(LeaseFence),
    /// Another process, which is alive, holds the lease.
    Held {
        by: String,
        since: Timestamp,
    },
}

impl FairShareEngine {
    /// Registers this process among those that run jobs, until the value is dropped.
    #[tracing::instrument(name = "engine.leases.join", level = "debug", skip_all, err(level = "debug"))]
    pub async fn join(&self) -> Result<ProcessPresence> {
        let store = self.store().clone();
        let holder = Arc::new(JobHolder::join(store.write(), name(), self.clock().now()).await?);
        // Weak, so that the heartbeats end as soon as the value is dropped.
        let beating = Arc::downgrade(&holder);
        let beats = tokio::spawn(async move {
            loop {
                tokio::time::sleep(BEAT_EVERY).await;
                let Some(beating) = beating.upgrade() else { return };
                if let Err(error) = beating.beat(store.write()).await {
                    tracing::debug!(%error, "other processes do not know that this one lives");
                }
                match beating.end_silent_sessions(store.write()).await {
                    Ok(0) => {}
                    Ok(sessions) => {
                        tracing::warn!(sessions, "transactions of processes that do not go on were ended");
                    }
                    Err(error) => tracing::debug!(%error, "transactions of processes that are gone were not ended"),
                }
            }
        });
        Ok(ProcessPresence { holder, _beats: AbortOnDropHandle::new(beats) })
    }

    /// Withdraws this process from those that run jobs.
    #[tracing::instrument(name = "engine.leases.leave", level = "debug", skip_all, err(level = "debug"))]
    pub async fn leave(&self, presence: &ProcessPresence) -> Result<()> {
        Ok(presence.holder.leave(self.store().write()).await?)
    }

    /// Takes a lease. One that is held by a dead process counts as free.
    #[tracing::instrument(name = "engine.leases.take_lease", level = "debug", skip_all, err(level = "debug"))]
    pub async fn take_lease(&self, presence: &ProcessPresence, name: &str) -> Result<LeaseResult> {
        let db = self.store().write();
        loop {
            let seen = store::leases::find(db, name).await?;
            if let Some((lease, holder)) = seen.and_then(|l| Some((l, l.holder?)))
                && holder != presence.id()
                && !presence.holder.is_gone(db, holder).await?
            {
                let by = store::holders::label(db, holder).await?.unwrap_or_else(|| "another process".to_owned());
                return Ok(LeaseResult::Held { by, since: lease.taken_at });
            }
            if let Some(fence) = store::leases::take_lease(db, name, presence.id(), seen, self.clock().now()).await? {
                return Ok(LeaseResult::Taken(fence));
            }
        }
    }

    #[tracing::instrument(name = "engine.leases.release_lease", level = "debug", skip_all, err(level = "debug"))]
    pub async fn release_lease(&self, fence: &LeaseFence) -> Result<()> {
        Ok(store::leases::release(self.store().write(), fence).await?)
    }

    /// Closes the records of runs whose process is dead. Returns their number.
    #[tracing::instrument(name = "engine.leases.close_abandoned_runs", level = "debug", skip_all, err(level = "debug"))]
    pub async fn close_abandoned_runs(&self, presence: &ProcessPresence) -> Result<u64> {
        let open = store::jobs::open(self.store().read()).await?;
        let holders: Vec<Uuid> = open.iter().filter_map(|(_, holder)| *holder).collect();
        let gone = presence.holder.gone(self.store().read(), &holders).await?;
        let is_abandoned = |holder: &Option<Uuid>| holder.is_none_or(|id| gone.contains(&id));
        let ids: Vec<i64> = open.iter().filter(|(_, holder)| is_abandoned(holder)).map(|(id, _)| *id).collect();
        if ids.is_empty() {
            return Ok(0);
        }
        let closed = store::jobs::close_abandoned(self.store().write(), ids, self.clock().now()).await?;
        tracing::info!(runs = closed, "runs of processes that are gone were closed as abandoned");
        Ok(closed)
    }
}
