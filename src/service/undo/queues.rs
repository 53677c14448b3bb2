//! The undo of changes of queues.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::NOT_UNDOABLE;
use super::moves::{ItemMove, item_moves};
use crate::domain::queues::QueueConfig;
use crate::engine::audit::{queue_label, queue_of};
use crate::engine::group::changes::queues;
use crate::engine::group::changes::record::ChangeRecord;
use crate::engine::group::transaction::GroupTransaction;
use crate::service::{Error, Result};

/// A queue with its configuration before and after; `None` if it did not exist.
type QueueMove = ItemMove<Arc<str>, Option<QueueConfig>>;

/// The queues that an entry has created, changed or removed.
#[derive(Debug, Default)]
pub struct QueueMoves(Vec<QueueMove>);

impl QueueMoves {
    /// Reads an entry about a single queue. A side that is absent means that the queue did not exist.
    pub fn of_one(name: &str, before: Option<&Value>, after: Option<&Value>) -> Option<Self> {
        Self::of_names(&json!({name: before}), &json!({name: after}))
    }

    pub fn of_names(before: &Value, after: &Value) -> Option<Self> {
        item_moves(before, after, |name| Some(Arc::from(name))).map(Self)
    }

    pub fn of_labels(before: &Value, after: &Value) -> Option<Self> {
        item_moves(before, after, |label| queue_of(label).map(Arc::from)).map(Self)
    }

    pub fn targets(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(name, ..)| queue_label(name))
    }

    /// The first queue that is not as it was after the change.
    pub fn differs(&self, session: &GroupTransaction) -> Option<String> {
        let now = &session.state().queues;
        let other = self.0.iter().find(|change| !is_left(change, now.get(&change.0).map(Arc::as_ref)));
        other.map(|(name, ..)| queue_label(name))
    }

    /// Restores the queues. They are checked like a write, because the present queues may not fit together with the
    /// earlier ones.
    pub async fn take_back(&self, session: &mut GroupTransaction, record: &mut ChangeRecord, id: i64) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let now = &session.state().queues;
        let were: Vec<QueueConfig> =
            self.0.iter().filter_map(|change| restored_queue(change, now.get(&change.0))).collect();
        let were_not = self.0.iter().filter(|(_, before, _)| before.is_none()).map(|(name, ..)| &**name);
        let were_not: BTreeSet<&str> = were_not.collect();
        let planned = queues::plan(session, were, |name| were_not.contains(name));
        let changed = planned.map_err(|error| entry_fault(error, id))?;
        queues::write_queues(session, &changed).await?;
        for change in &changed.changes {
            record.note("queues", &queue_label(&change.name), json!(change.from), json!(change.to));
        }
        Ok(())
    }
}

/// True if the entry has changed the age of a queue, which includes creating or removing it.
fn changes_age((_, before, after): &QueueMove) -> bool {
    before.as_ref().map(|queue| queue.created_at) != after.as_ref().map(|queue| queue.created_at)
}

/// True if a queue is as the entry left it. This includes a queue that was removed and created again by hand, although
/// it is younger.
fn is_left(change: &QueueMove, now: Option<&QueueConfig>) -> bool {
    let (_, before, after) = change;
    let created_at = now.and_then(|queue| queue.created_at);
    let is_age_set = before.is_some() && changes_age(change);
    let left = after.clone().map(|left| if is_age_set { left } else { QueueConfig { created_at, ..left } });
    now == left.as_ref()
}

/// The queue as it was before the entry. If the entry did not change its age, the queue keeps its present age.
fn restored_queue(change: &QueueMove, now: Option<&Arc<QueueConfig>>) -> Option<QueueConfig> {
    let before = change.1.clone()?;
    let kept = now.filter(|_| !changes_age(change)).map(|queue| queue.created_at);
    Some(QueueConfig { created_at: kept.unwrap_or(before.created_at), ..before })
}

/// Converts faults of a write that no client has sent into a fault of the entry.
fn entry_fault(error: Error, id: i64) -> Error {
    let Error::Invalid(faults) = error else { return error };
    let why = faults.into_iter().next().map_or_else(String::new, |fault| fault.detail);
    Error::invalid("/id", NOT_UNDOABLE, format!("the queues cannot be as they were before the entry {id}: {why}"))
}
