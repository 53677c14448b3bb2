//! Changes of a group's queues (DIVISION §1).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::queue_slots;
use crate::domain::division::{DivisionWarning, check};
use crate::domain::queues::{QueueConfig, QueueConfigs};
use crate::engine::audit::{AuditedChange, queue_label};
use crate::engine::error::{Error, Result};
use crate::engine::group::transaction::GroupTransaction;
use crate::store;

/// The change of one queue. At most one side is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueChange {
    pub name: Arc<str>,
    pub from: Option<Arc<QueueConfig>>,
    pub to: Option<Arc<QueueConfig>>,
}

/// The result of a write.
#[derive(Clone, Debug)]
pub struct QueuesChanged {
    /// Queues that are new, changed or removed; by name.
    pub changes: Vec<QueueChange>,
    /// All queues after the write.
    pub queues: Arc<QueueConfigs>,
    /// The warnings of the linter about all queues, which never refuse a write.
    pub warnings: Vec<DivisionWarning>,
}

impl QueuesChanged {
    /// The numbers of new, changed and removed queues.
    pub fn counts(&self) -> [u64; 3] {
        let count = |sides| self.changes.iter().filter(|c| (c.from.is_some(), c.to.is_some()) == sides).count() as u64;
        [count((false, true)), count((true, true)), count((true, false))]
    }
}

/// Checks a write against the existing queues, and returns the changes. `goes` is true for queues that are removed if they
/// are not written. Faults point at `/queues/N/key`.
pub(crate) fn plan(
    session: &GroupTransaction,
    mut written: Vec<QueueConfig>,
    goes: impl Fn(&str) -> bool,
) -> Result<QueuesChanged> {
    let (state, now) = (session.state(), session.now);
    let before = &state.queues;
    for queue in &mut written {
        let known = before.get(queue.name.as_str()).and_then(|q| q.created_at);
        queue.created_at = queue.created_at.or(known).or(Some(now));
    }
    let written: Vec<Arc<QueueConfig>> = written.into_iter().map(Arc::new).collect();
    let named: BTreeSet<&str> = written.iter().map(|q| q.name.as_str()).collect();
    let stays = |name: &str| !named.contains(name) && !goes(name);
    let staying = || before.values().filter(|q| stays(&q.name));
    require_parents(staying(), |name| !named.contains(name) && goes(name))?;
    let choice = &state.options.division;
    let choice = (choice.algorithm(), &choice.options);
    let mut warnings = check(&written, staying(), &state.capacity, choice).map_err(Error::Invalid)?;
    warnings.extend(queue_slots::warnings(state, &written));
    let after: QueueConfigs = staying().chain(&written).map(|q| (Arc::from(q.name.as_str()), Arc::clone(q))).collect();
    let names: BTreeSet<&Arc<str>> = before.keys().chain(after.keys()).collect();
    let changes = names.into_iter().filter(|name| before.get(*name) != after.get(*name)).map(|name| QueueChange {
        name: Arc::clone(name),
        from: before.get(name).cloned(),
        to: after.get(name).cloned(),
    });
    Ok(QueuesChanged { changes: changes.collect(), queues: Arc::new(after), warnings })
}

/// The change that removes one queue. A queue with children is refused. The other queues are not checked, because too many
/// queues may be the reason for the removal.
pub(crate) fn plan_removal(session: &GroupTransaction, name: &str) -> Result<QueuesChanged> {
    let queues = &session.state().queues;
    let mut left = QueueConfigs::clone(queues);
    let removed = left.remove_entry(name);
    let (name, queue) = removed.ok_or_else(|| Error::unknown_queue(name, session.group()))?;
    require_parents(left.values(), |other| *other == *name)?;
    let change = QueueChange { name, from: Some(queue), to: None };
    Ok(QueuesChanged { changes: vec![change], queues: Arc::new(left), warnings: Vec::new() })
}

/// Refuses to remove the parent of a queue that stays.
fn require_parents<'a>(
    mut staying: impl Iterator<Item = &'a Arc<QueueConfig>>,
    gone: impl Fn(&str) -> bool,
) -> Result<()> {
    let orphan = staying.find_map(|queue| Some((queue, queue.parent.as_deref().filter(|name| gone(name))?)));
    let Some((child, parent)) = orphan else { return Ok(()) };
    let detail = format!("queue {parent:?} has children, {:?} among them; remove or move them first", child.name);
    Err(Error::Conflict { code: "has_children", detail })
}

/// Stores the changes, with an entry in the audit log.
pub(crate) async fn store_queues(
    session: &mut GroupTransaction,
    action: &'static str,
    reason: Option<String>,
    changed: &QueuesChanged,
) -> Result<()> {
    if changed.changes.is_empty() {
        return Ok(());
    }
    write_queues(session, changed).await?;
    let (target, before, after) = match (action, changed.changes.as_slice()) {
        ("queue.put" | "queue.delete", [only]) => (only.name.to_string(), json!(only.from), json!(only.to)),
        (_, all) => {
            let side = |of: fn(&QueueChange) -> &Option<Arc<QueueConfig>>| {
                json!(all.iter().map(|c| (c.name.to_string(), of(c))).collect::<BTreeMap<_, _>>())
            };
            (session.group().to_owned(), side(|c| &c.from), side(|c| &c.to))
        }
    };
    let given = |value: Value| Some(value).filter(|v| !v.is_null());
    let entry = AuditedChange { action, target, before: given(before), after: given(after), reason };
    let targets: Vec<String> = changed.changes.iter().map(|change| queue_label(&change.name)).collect();
    session.audit_of(entry, &targets).await?;
    Ok(())
}

/// Stores the changes.
pub(crate) async fn write_queues(session: &mut GroupTransaction, changed: &QueuesChanged) -> Result<()> {
    let group = session.group().to_owned();
    let upserts: Vec<Arc<QueueConfig>> = changed.changes.iter().filter_map(|c| c.to.clone()).collect();
    let gone: Vec<Arc<str>> = changed.changes.iter().filter(|c| c.to.is_none()).map(|c| Arc::clone(&c.name)).collect();
    store::queues::upsert(session.write(), &group, &upserts, session.now).await?;
    store::queues::delete(session.write(), &group, &gone).await?;
    session.set_queues(Arc::clone(&changed.queues));
    Ok(())
}
