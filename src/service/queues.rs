//! The queues of a group: configured here, all or nothing, effective at once (division §1).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;

use super::audit::Change;
use super::session::Session;
use super::{Caller, Error, Fault, Result, Service, detached};
use crate::domain::division::Warning;
pub use crate::domain::queues::Queues;
use crate::domain::queues::{ConfigFault, QueueConfig, check};
use crate::store;

/// What a write means for one queue. At most one side is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueChange {
    pub name: Arc<str>,
    pub from: Option<QueueConfig>,
    pub to: Option<QueueConfig>,
}

/// What a write did.
#[derive(Clone, Debug)]
pub struct QueuesChanged {
    /// Queues that are new, not what they were, or gone; by name.
    pub changes: Vec<QueueChange>,
    /// All queues after the write.
    pub queues: Arc<Queues>,
    /// What the linter says of all queues (never a refusal).
    pub warnings: Vec<Warning>,
}

impl QueuesChanged {
    /// How many queues are new, not what they were, and gone.
    pub fn counts(&self) -> [u64; 3] {
        let count = |sides| self.changes.iter().filter(|c| (c.from.is_some(), c.to.is_some()) == sides).count() as u64;
        [count((false, true)), count((true, true)), count((true, false))]
    }
}

/// Several queues at once.
#[derive(Clone, Debug, Default)]
pub struct QueuesWrite {
    pub queues: Vec<QueueConfig>,
    /// Whether queues that are not named go.
    pub prune: bool,
    pub reason: Option<String>,
}

impl Service {
    /// All queues that are configured, by name.
    pub fn queues(&self, caller: &Caller, group: &str) -> Result<Arc<Queues>> {
        caller.require_reader()?;
        Ok(Arc::clone(&self.group(caller, group)?.queues))
    }

    pub fn queue(&self, caller: &Caller, group: &str, name: &str) -> Result<QueueConfig> {
        self.queues(caller, group)?.get(name).cloned().ok_or_else(|| Error::unknown_queue(name, group))
    }

    /// Creates or replaces one queue. Faults point into the queue itself, like `/parent`.
    pub async fn put_queue(
        self: &Arc<Self>,
        caller: Caller,
        group: String,
        queue: QueueConfig,
        reason: Option<String>,
    ) -> Result<QueuesChanged> {
        let write = QueuesWrite { queues: vec![queue], prune: false, reason };
        let pointer = |fault: &ConfigFault| format!("/{}", fault.key);
        self.write_queues(caller, group, write, "queue.put", pointer).await
    }

    /// Creates or replaces many queues, all or none. Faults point at `/queues/N/key`.
    pub async fn put_queues(
        self: &Arc<Self>,
        caller: Caller,
        group: String,
        write: QueuesWrite,
    ) -> Result<QueuesChanged> {
        self.write_queues(caller, group, write, "queues.put", list_pointer).await
    }

    /// Removes one queue. One that has children is not removed.
    pub async fn delete_queue(
        self: &Arc<Self>,
        caller: Caller,
        group: String,
        name: String,
        reason: Option<String>,
    ) -> Result<()> {
        caller.require_admin()?;
        let service = Arc::clone(self);
        detached(async move {
            let mut session = Session::open(&service, &caller, &group).await?;
            let queues = &session.state().queues;
            let Some(queue) = queues.get(name.as_str()).cloned() else {
                return Err(Error::unknown_queue(&name, &group));
            };
            if let Some(child) = queues.values().find(|q| q.parent.as_deref() == Some(name.as_str())) {
                return Err(Error::Conflict {
                    code: "has_children",
                    detail: format!(
                        "queue {name:?} has children, {:?} among them; remove or move them first",
                        child.name
                    ),
                });
            }
            let mut left = Queues::clone(queues);
            left.remove(name.as_str());
            let change = QueueChange { name: Arc::from(name.as_str()), from: Some(queue), to: None };
            let changed = QueuesChanged { changes: vec![change], queues: Arc::new(left), warnings: Vec::new() };
            book(&mut session, &caller, "queue.delete", reason, &changed).await?;
            session.commit().await?;
            Ok(())
        })
        .await
    }

    async fn write_queues(
        self: &Arc<Self>,
        caller: Caller,
        group: String,
        write: QueuesWrite,
        action: &'static str,
        pointer: fn(&ConfigFault) -> String,
    ) -> Result<QueuesChanged> {
        caller.require_admin()?;
        let service = Arc::clone(self);
        detached(async move {
            let mut session = Session::open(&service, &caller, &group).await?;
            let changed = plan(&session, write.queues, write.prune, pointer)?;
            if changed.changes.is_empty() {
                session.unchanged().await?;
            } else {
                book(&mut session, &caller, action, write.reason, &changed).await?;
                session.commit().await?;
            }
            Ok(changed)
        })
        .await
    }
}

/// Where a fault of many queues is.
pub(super) fn list_pointer(fault: &ConfigFault) -> String {
    match fault.queue {
        Some(at) if fault.key.is_empty() => format!("/queues/{at}"),
        Some(at) => format!("/queues/{at}/{}", fault.key),
        None => "/queues".to_owned(),
    }
}

/// Checks a write against the queues that are there, and says what it changes.
pub(super) fn plan(
    session: &Session,
    mut written: Vec<QueueConfig>,
    prune: bool,
    pointer: fn(&ConfigFault) -> String,
) -> Result<QueuesChanged> {
    let (state, now) = (session.state(), session.now);
    let before = &state.queues;
    for queue in &mut written {
        let known = before.get(queue.name.as_str()).and_then(|q| q.created_at);
        queue.created_at = queue.created_at.or(known).or(Some(now));
    }
    let warnings = {
        let named: BTreeSet<&str> = written.iter().map(|q| q.name.as_str()).collect();
        let unchanged = before.values().filter(|q| !prune && !named.contains(q.name.as_str()));
        check(&written, unchanged, &state.capacity, &state.options.division).map_err(|faults| {
            let shown = faults.into_iter().map(|fault| Fault::new(pointer(&fault), fault.code, fault.detail));
            Error::Invalid(shown.collect())
        })?
    };
    let written: Queues = written.into_iter().map(|q| (Arc::from(q.name.as_str()), q)).collect();
    let mut after = if prune { Queues::new() } else { Queues::clone(before) };
    after.extend(written);
    let names: BTreeSet<&Arc<str>> = before.keys().chain(after.keys()).collect();
    let changes = names.into_iter().filter(|name| before.get(*name) != after.get(*name)).map(|name| QueueChange {
        name: Arc::clone(name),
        from: before.get(name).cloned(),
        to: after.get(name).cloned(),
    });
    Ok(QueuesChanged { changes: changes.collect(), queues: Arc::new(after), warnings })
}

/// Stores the changes, with an entry in the audit log; whoever opened the session commits.
pub(super) async fn book(
    session: &mut Session,
    caller: &Caller,
    action: &'static str,
    reason: Option<String>,
    changed: &QueuesChanged,
) -> Result<()> {
    if changed.changes.is_empty() {
        return Ok(());
    }
    let group = session.state().group.name.clone();
    let upserts: Vec<QueueConfig> = changed.changes.iter().filter_map(|c| c.to.clone()).collect();
    let gone: Vec<Arc<str>> = changed.changes.iter().filter(|c| c.to.is_none()).map(|c| Arc::clone(&c.name)).collect();
    store::queues::upsert(session.tx(), &group, &upserts, session.now).await?;
    store::queues::delete(session.tx(), &group, &gone).await?;
    session.set_queues(Arc::clone(&changed.queues)).await?;
    let (target, before, after) = match (action, changed.changes.as_slice()) {
        ("queue.put" | "queue.delete", [only]) => (only.name.to_string(), json!(only.from), json!(only.to)),
        (_, all) => {
            let side = |of: fn(&QueueChange) -> &Option<QueueConfig>| {
                json!(all.iter().map(|c| (c.name.to_string(), of(c))).collect::<BTreeMap<_, _>>())
            };
            (group, side(|c| &c.from), side(|c| &c.to))
        }
    };
    let given = |value: serde_json::Value| Some(value).filter(|v| !v.is_null());
    session.audit(Change { caller, action, target, before: given(before), after: given(after), reason }).await
}
