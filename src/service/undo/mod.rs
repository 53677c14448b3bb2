//! The undo of an audited change of weights, options, queues or domains of projects: the inverse change, as a new
//! audited change.

mod domain_moves;
mod moves;
mod options;
mod queues;
mod weights;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::audit_log::{AuditEntry, AuditFilter, ChangeAuthor};
use super::audit_names;
use super::people_tree;
use super::what_if::APPLY;
use super::{Caller, Error, Result, Service};
use crate::api::input_warning::InputWarning;
use crate::engine::accounting::shorter_lookback;
use crate::engine::error::PresentState;
use crate::engine::group::changes::projects;
use crate::engine::group::changes::record::ChangeRecord;
use crate::engine::group::transaction::GroupTransaction;
use crate::engine::work::run_to_completion;
use crate::store::audit;
use crate::store::audit_targets::TargetNames;
use crate::store::key_list::IdWindow;
use domain_moves::DomainMoves;
use options::{OptionsMove, ValuePath, value_label};
use queues::QueueMoves;
use weights::WeightMoves;

/// The number of entries that are read at once while searching for the entry of a change.
const ENTRIES_PAGE: u64 = 100;

/// The action of an undo in the audit log.
const UNDO_ACTION: &str = "audit_log.undo";

/// The result of an undo.
#[derive(Clone, Debug)]
pub struct UndoneChange {
    /// The audit entry of the undo.
    pub audit_id: i64,
    /// Probable mistakes in the options of the group after the undo, and usage that no longer counts or soon will not.
    pub warnings: Vec<InputWarning>,
}

impl Service {
    /// Restores what an audit entry has changed, unless some of it has changed since.
    #[tracing::instrument(name = "service.undo.undo", level = "debug", skip_all, fields(id), err(level = "debug"))]
    pub async fn undo(self: &Arc<Self>, caller: Caller, id: i64, reason: Option<String>) -> Result<UndoneChange> {
        caller.require_admin()?;
        let found = audit::by_ids(&self.reads_for(caller.client()), caller.principal.groups.as_deref(), [id]).await?;
        let entry = found.into_iter().next().ok_or_else(|| Error::NotFound {
            code: "unknown_audit_entry",
            detail: format!("the audit log has no entry {id}"),
        })?;
        let recorded = RecordedChanges::read(&entry)?;
        let Some(group) = entry.resource_group.clone() else { return Err(not_undoable(&entry)) };
        let moved = recorded.domain_assignments.projects();
        if !moved.is_empty() {
            caller.require_all_groups()?;
        }
        let service = Arc::clone(self);
        run_to_completion(async move {
            let change = async |session: &mut GroupTransaction| {
                if session.state().group.created_at > entry.at {
                    let detail = format!("the entry {id} is about a resource group that was removed since");
                    return Err(Error::invalid("/id", NOT_UNDOABLE, detail));
                }
                session.learn_people().await?;
                recorded.require_unchanged(session, &entry).await?;
                let options = session.state().options.clone();
                let audit_id = recorded.take_back(session, id, reason).await?;
                Ok((audit_id, shorter_lookback::warnings(session, &options).await?))
            };
            let ((audit_id, of_undo), visible) =
                Arc::clone(&service).change_and_see(caller, group.clone(), change).await?;
            projects::show_elsewhere(&service.engine, &group, &moved).await;
            Ok(UndoneChange { audit_id, warnings: visible.warned(of_undo).warnings() })
        })
        .await
    }
}

/// True if an entry is of a kind that can be undone.
pub fn is_undoable(entry: &AuditEntry) -> bool {
    entry.resource_group.is_some() && RecordedChanges::read(entry).is_ok()
}

/// The code of the refusal of an entry that cannot be undone.
const NOT_UNDOABLE: &str = "not_undoable";

fn not_undoable(entry: &AuditEntry) -> Error {
    let said = format!(
        "is an entry about `{}`: only changes of weights, options, queues and domains can be undone",
        entry.action
    );
    Error::about("/id", NOT_UNDOABLE, said)
}

/// The changes of an entry, with the values before and after.
#[derive(Debug, Default)]
struct RecordedChanges {
    weights: WeightMoves,
    domain_assignments: DomainMoves,
    options: OptionsMove,
    queues: QueueMoves,
}

impl RecordedChanges {
    fn read(entry: &AuditEntry) -> Result<Self> {
        let (before, after) = (entry.before.as_ref(), entry.after.as_ref());
        let read = match entry.action.as_str() {
            // A new queue has no value before, and a removed one none after.
            "queue.put" | "queue.delete" => {
                QueueMoves::of_one(&entry.target, before, after).map(|queues| Self { queues, ..Self::default() })
            }
            action => before.zip(after).and_then(|(before, after)| Self::of_many(action, before, after)),
        };
        read.filter(|recorded| !recorded.targets().is_empty()).ok_or_else(|| not_undoable(entry))
    }

    /// The changes of an entry with several values before and after; `None` if it is about something else.
    fn of_many(action: &str, before: &Value, after: &Value) -> Option<Self> {
        let all = Self::default();
        Some(match action {
            "weights.put" => Self { weights: WeightMoves::read(before, after)?, ..all },
            "scheduler_options.patch" | "resource_group.put" => {
                Self { options: OptionsMove::read(before, after), ..all }
            }
            "queues.put" => Self { queues: QueueMoves::of_names(before, after)?, ..all },
            APPLY | UNDO_ACTION | people_tree::ACTION => Self {
                weights: WeightMoves::read(&before["weights"], &after["weights"])?,
                domain_assignments: DomainMoves::read(&before["projects"], &after["projects"])?,
                options: OptionsMove::read(before, after),
                queues: QueueMoves::of_labels(&before["queues"], &after["queues"])?,
            },
            _ => return None,
        })
    }

    /// The names of the changed items.
    fn targets(&self) -> Vec<String> {
        let people = self.weights.targets().chain(self.domain_assignments.targets());
        people.chain(self.options.targets()).chain(self.queues.targets()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Refuses if some value is not as the entry left it. Later entries about the same item alone do not matter,
    /// because their changes may have been reverted since.
    async fn require_unchanged(&self, session: &GroupTransaction, entry: &AuditEntry) -> Result<()> {
        let Some(LaterDifference { target, path, shown }) = self.differs(session) else { return Ok(()) };
        let by = last_change(session, entry.id, &target, path.as_ref()).await?;
        let who = by.as_ref().map_or_else(String::new, |by| format!(" by {} (entry {} of {})", by.actor, by.id, by.at));
        let detail = format!("{shown} was changed since the entry {}{who}", entry.id);
        Err(Error::Overtaken {
            code: "changed_since",
            detail,
            found: Box::new(PresentState { by, ..PresentState::default() }),
        })
    }

    /// The first item that is not as it was after the change.
    fn differs(&self, session: &GroupTransaction) -> Option<LaterDifference> {
        let named = |target: String| {
            let shown = audit_names::shown_name(&target, &session.people());
            LaterDifference { target, path: None, shown }
        };
        let option = |path: ValuePath| {
            let (target, shown) = value_label(&path);
            LaterDifference { target, path: Some(path), shown }
        };
        let people = self.weights.differs(session).or_else(|| self.domain_assignments.differs(session)).map(named);
        let options = || self.options.differs(session).map(option);
        people.or_else(options).or_else(|| self.queues.differs(session).map(named))
    }

    /// Restores all values from before the change.
    async fn take_back(&self, session: &mut GroupTransaction, id: i64, reason: Option<String>) -> Result<i64> {
        let mut record = ChangeRecord::default();
        self.domain_assignments.take_back(session, &mut record).await?;
        self.weights.take_back(session, &mut record)?;
        self.options.take_back(session, &mut record).await?;
        self.queues.take_back(session, &mut record, id).await?;
        record.set_undone_entry(id);
        let written = record.write(session, UNDO_ACTION, reason).await?;
        written.ok_or_else(|| Error::internal(format!("the entry {id} has changed nothing")))
    }
}

/// An item that is not as an entry left it.
struct LaterDifference {
    /// The name in the audit log.
    target: String,
    /// The path of the value in the options; `None` if it is not an option.
    path: Option<ValuePath>,
    /// The name in messages.
    shown: String,
}

/// The author of the last change of `target` after the entry `since`, if the audit log has it. An entry about an option
/// may have changed another value of it than the one at `path`.
async fn last_change(
    session: &GroupTransaction,
    since: i64,
    target: &str,
    path: Option<&ValuePath>,
) -> Result<Option<ChangeAuthor>> {
    let targets = TargetNames { names: vec![target.to_owned()], prefix: None };
    let resource_group = Some(session.group().to_owned());
    let filter = AuditFilter { resource_group, target: Some(targets), ..AuditFilter::default() };
    let changes = |entry: &AuditEntry| {
        let recorded = RecordedChanges::read(entry);
        path.is_none_or(|path| recorded.is_ok_and(|recorded| recorded.options.changes(path)))
    };
    let mut window = IdWindow { before: None, after: None, from_end: false, offset: 0, limit: ENTRIES_PAGE };
    loop {
        let page = audit::page(session.read(), &filter, &window).await?;
        let is_last = !page.cut || page.rows.last().is_none_or(|entry| entry.id <= since);
        window.after = page.rows.last().map(|entry| entry.id);
        let found = page.rows.into_iter().filter(|entry| entry.id > since).find(changes);
        if found.is_some() || is_last {
            return Ok(found.map(|AuditEntry { id, at, actor, reason, .. }| ChangeAuthor { id, at, actor, reason }));
        }
    }
}
