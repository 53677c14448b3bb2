//! The report of an import of a tree.

use std::fmt;

use serde_json::{Value, json};

use super::{AccountFile, DroppedLine};
use crate::api::input_warning::list_names;
use crate::api::people_tree::{PinnedValue, TreeAnswer};
use crate::cli::nouns::with_noun;
use crate::connectors::slurm::people::MappedPeople;

/// The most lines and names that a report lists.
const MAX_LISTED: usize = 20;

/// The report of an import of a tree.
#[derive(Clone, Debug)]
pub struct TreeReport {
    pub resource_group: String,
    pub dry_run: bool,
    pub entries: u64,
    pub dropped: Vec<DroppedLine>,
    pub mapped: MappedPeople,
    pub answer: TreeAnswer,
}

impl TreeReport {
    pub fn new(file: AccountFile, mapped: MappedPeople, answer: TreeAnswer, dry_run: bool) -> Self {
        let AccountFile { entries, dropped, .. } = file;
        Self { resource_group: mapped.tree.resource_group.clone(), dry_run, entries, dropped, mapped, answer }
    }

    /// True if every line was taken.
    pub fn succeeded(&self) -> bool {
        self.dropped.is_empty() && self.mapped.unusable_names.is_empty()
    }

    pub fn to_json(&self) -> Value {
        let dropped = |line: &DroppedLine| json!({"line": line.line, "detail": line.fault.to_string()});
        let pinned = |value: &PinnedValue| {
            let PinnedValue { target_id, target_name, key, from, to } = value;
            json!({"target_id": target_id, "target_name": target_name, "key": key, "from": from, "to": to})
        };
        let MappedPeople { zero_shares, users_of_parents, unusable_names, .. } = &self.mapped;
        let TreeAnswer { set, unset, moved, created, pinned: kept } = &self.answer;
        json!({
            "resource_group": self.resource_group, "dry_run": self.dry_run, "lines": self.entries,
            "dropped": self.dropped.iter().map(dropped).collect::<Vec<_>>(), "set": set, "unset": unset, "moved": moved,
            "created": created, "pinned": kept.iter().map(pinned).collect::<Vec<_>>(), "zero_shares": zero_shares,
            "users_of_parents": users_of_parents, "unusable_names": unusable_names,
        })
    }

    /// The things that a person should look at.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let lists = [
            (&self.mapped.zero_shares, "the share 0 is the least weight here"),
            (&self.mapped.users_of_parents, "users with the share `parent` get no weight"),
            (&self.mapped.unusable_names, "the server takes no such names, so that they are left out"),
        ];
        for (names, said) in lists {
            if !names.is_empty() {
                warnings.push(format!("{said}: {}", list_names(names, MAX_LISTED)));
            }
        }
        let pinned = self.answer.pinned.iter().map(|value| {
            let none = || "none".to_owned();
            let name = value.target_name.as_ref().unwrap_or(&value.target_id);
            let (from, to) = (value.from.clone().unwrap_or_else(none), value.to.clone().unwrap_or_else(none));
            format!("{} of {name} ({from}, in the file {to})", value.key)
        });
        let pinned: Vec<String> = pinned.collect();
        if !pinned.is_empty() {
            warnings.push(format!("values that were set by hand stay: {}", list_names(&pinned, MAX_LISTED)));
        }
        warnings
    }
}

impl fmt::Display for TreeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TreeAnswer { set, unset, moved, created, .. } = self.answer;
        let lines = with_noun(self.entries, "account or user", "accounts and users");
        writeln!(f, "{}: {lines} read, {} dropped", self.resource_group, self.dropped.len())?;
        let would = if self.dry_run { "would be " } else { "" };
        write!(f, "{would}set {set}, unset {unset}, moved {moved}, created {created}")?;
        for DroppedLine { line, fault } in self.dropped.iter().take(MAX_LISTED) {
            write!(f, "\n  dropped line {line}: {fault}")?;
        }
        match self.dropped.len().checked_sub(MAX_LISTED) {
            None | Some(0) => Ok(()),
            Some(more) => write!(f, "\n  and {more} more"),
        }
    }
}
