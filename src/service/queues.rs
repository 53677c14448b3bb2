//! The queues of a group. They are configured here, all or none, effective at once (DIVISION §1).

use std::sync::Arc;

use super::input::terms::WriteTerms;
use super::{Caller, Error, Fault, Result, Service};
use crate::domain::queues::{QueueConfig, QueueConfigs};
use crate::engine::group::changes::queues;
use crate::engine::group::transaction::GroupTransaction;
use crate::engine::work::run_to_completion;

pub use crate::engine::group::changes::queues::{QueueChange, QueuesChanged};

/// A write of several queues.
#[derive(Clone, Debug, Default)]
pub struct QueuesWrite {
    pub queues: Vec<QueueConfig>,
    /// True if queues that are not named are removed.
    pub prune: bool,
    pub reason: Option<String>,
    /// The `config_revision` that the write is based on. The write is refused if the present one differs.
    pub if_revision: Option<String>,
}

impl Service {
    /// All configured queues, by name.
    pub fn queues(&self, caller: &Caller, group: &str) -> Result<Arc<QueueConfigs>> {
        Ok(Arc::clone(&self.group_for_readers(caller, group)?.whole()?.queues))
    }

    pub fn queue(&self, caller: &Caller, group: &str, name: &str) -> Result<Arc<QueueConfig>> {
        self.queues(caller, group)?.get(name).cloned().ok_or_else(|| Error::unknown_queue(name, group))
    }

    /// Creates or replaces one queue. Pointers in faults are relative to the queue, such as `/parent`.
    #[tracing::instrument(
        name = "service.queues.put_queue",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn put_queue(
        self: &Arc<Self>,
        caller: Caller,
        group: String,
        queue: QueueConfig,
        terms: impl Into<WriteTerms>,
    ) -> Result<QueuesChanged> {
        let WriteTerms { reason, if_revision } = terms.into();
        let write = QueuesWrite { queues: vec![queue], prune: false, reason, if_revision };
        self.write_queues(caller, group, write, "queue.put").await.map_err(of_one)
    }

    /// Creates or replaces several queues, all or none. Faults point at `/queues/N/key`.
    #[tracing::instrument(
        name = "service.queues.put_queues",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn put_queues(
        self: &Arc<Self>,
        caller: Caller,
        group: String,
        write: QueuesWrite,
    ) -> Result<QueuesChanged> {
        self.write_queues(caller, group, write, "queues.put").await
    }

    /// Removes one queue. A queue with children is not removed.
    #[tracing::instrument(
        name = "service.queues.delete_queue",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn delete_queue(
        self: &Arc<Self>,
        caller: Caller,
        group: String,
        name: String,
        terms: impl Into<WriteTerms>,
    ) -> Result<()> {
        caller.require_admin()?;
        let WriteTerms { reason, if_revision } = terms.into();
        let change = async move |session: &mut GroupTransaction| {
            session.require_revision(if_revision.as_deref()).await?;
            let changed = queues::plan_removal(session, &name)?;
            queues::store_queues(session, "queue.delete", reason, &changed).await
        };
        run_to_completion(Arc::clone(self).change(caller, group, change)).await
    }

    async fn write_queues(
        self: &Arc<Self>,
        caller: Caller,
        group: String,
        write: QueuesWrite,
        action: &'static str,
    ) -> Result<QueuesChanged> {
        caller.require_admin()?;
        let change = async move |session: &mut GroupTransaction| {
            session.require_revision(write.if_revision.as_deref()).await?;
            let changed = queues::plan(session, write.queues, |_| write.prune)?;
            queues::store_queues(session, action, write.reason, &changed).await?;
            Ok(changed)
        };
        run_to_completion(Arc::clone(self).change(caller, group, change)).await
    }
}

/// Converts the pointers of faults of a write of one queue, which is the body itself.
fn of_one(error: Error) -> Error {
    let Error::Invalid(faults) = error else { return error };
    let in_queue = |fault: Fault| {
        let pointer = fault.pointer.strip_prefix("/queues/0").unwrap_or("/").to_owned();
        Fault { pointer, ..fault }
    };
    Error::Invalid(faults.into_iter().map(in_queue).collect())
}
