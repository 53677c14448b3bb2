//! One audit entry about several changes of a group, which is found by the name of each.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::options;
use crate::engine::audit::AuditedChange;
use crate::engine::error::Result;
use crate::engine::group::transaction::GroupTransaction;

/// The content of one audit entry about several changes.
#[derive(Default)]
pub struct ChangeRecord {
    before: Map<String, Value>,
    after: Map<String, Value>,
    /// The targets. A set, because the weight and the domain of one project may both change.
    targets: BTreeSet<String>,
}

impl ChangeRecord {
    /// Notes the change of one weight, project or queue.
    pub fn note(&mut self, kind: &str, target: &str, before: Value, after: Value) {
        self.note_under(kind, target, target.to_owned(), before, after);
    }

    /// Notes a change that the audit log finds by another name than the one of its item.
    pub fn note_under(&mut self, kind: &str, item: &str, target: String, before: Value, after: Value) {
        for (side, value) in [(&mut self.before, before), (&mut self.after, after)] {
            side.entry(kind).or_insert_with(|| json!({}))[item] = value;
        }
        self.targets.insert(target);
    }

    /// Notes the options before and after, unless they are the same.
    pub fn note_options(&mut self, before: &Value, after: &Value) {
        let changed = options::changed_names(before, after);
        if changed.is_empty() {
            return;
        }
        for (side, value) in [(&mut self.before, before), (&mut self.after, after)] {
            side.extend(value.as_object().cloned().unwrap_or_default());
        }
        self.targets.extend(changed);
    }

    /// Notes the id of the entry that this one takes back.
    pub fn set_undone_entry(&mut self, id: i64) {
        self.after.insert("undone".to_owned(), json!(id));
    }

    /// Writes the entry, unless no change was noted. Returns its id.
    pub async fn write(
        self,
        session: &GroupTransaction,
        action: &'static str,
        reason: Option<String>,
    ) -> Result<Option<i64>> {
        if self.targets.is_empty() {
            return Ok(None);
        }
        let (before, after) = (Some(Value::Object(self.before)), Some(Value::Object(self.after)));
        let entry = AuditedChange { action, target: session.group().to_owned(), before, after, reason };
        let targets: Vec<String> = self.targets.into_iter().collect();
        Ok(Some(session.audit_of(entry, &targets).await?))
    }
}
