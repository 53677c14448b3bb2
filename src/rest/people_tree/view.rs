//! The answer to a tree of people.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api::input_warning::InputWarning;
use crate::domain::weight::Weight;
use crate::service::people_tree::{PeopleTreeChanged, TreeChange, TreeDifference};
use crate::service::weight_input::TargetType;

/// The changes that a tree has made, or would make.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "set": 1, "unset": 0, "unchanged": 2, "moved": 0, "created": 1,
    "items": [{"target_type": "domain", "target_id": "physics", "key": "weight", "from": null, "to": "3", "pointer": "/domains/0"}],
    "pinned": []
}))]
pub struct PeopleTreeWritten {
    /// Weights that are new or not what they were.
    pub set: u64,
    /// Weights of an earlier tree that are not set any more.
    pub unset: u64,
    /// Weights of the tree that were as they are.
    pub unchanged: u64,
    /// Projects that have moved to another domain.
    pub moved: u64,
    /// Domains, projects and users that are new to the group.
    pub created: u64,
    /// Every change of a weight or of the domain of a project.
    pub items: Vec<PeopleTreeItem>,
    /// The values that differ from those of the tree and stay as `from` has them, because an admin has set them by hand, or because
    /// groups that the key does not reach have the project, too.
    pub pinned: Vec<PeopleTreeItem>,
    /// Likely mistakes; absent where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<InputWarning>,
}

/// A weight or the domain of a project, before the tree and in the tree.
#[derive(Debug, Serialize, ToSchema)]
pub struct PeopleTreeItem {
    pub target_type: TargetType,
    /// A domain's name, or the UUID of a project or user.
    pub target_id: String,
    /// The name to show beside `target_id`, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub target_name: Option<Arc<str>>,
    /// In which of the user's projects; only for users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<Uuid>,
    /// The name to show beside `project_id`, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub project_name: Option<Arc<str>>,
    /// `weight` or `domain_name`.
    pub key: &'static str,
    /// The value before; `null`: the weight was not set.
    pub from: Option<String>,
    /// The value of the tree; `null`: it has none.
    pub to: Option<String>,
    /// The place in the request; absent: the tree does not have the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
}

impl From<TreeChange> for PeopleTreeItem {
    fn from(change: TreeChange) -> Self {
        let TreeChange { target, difference, pointer } = change;
        let (target_type, target_id, project_id) = TargetType::of_owner(&target.owner);
        let (target_name, project_name) = match target_type {
            TargetType::User => (target.user_name, target.project_name),
            TargetType::Domain | TargetType::Project => (target.project_name, None),
        };
        let weight = |weight: Option<Weight>| weight.map(|weight| weight.to_string());
        let (key, from, to) = match difference {
            TreeDifference::Weight { from, to } => ("weight", weight(from), weight(to)),
            TreeDifference::Domain { from, to } => ("domain_name", Some(from.to_string()), Some(to.to_string())),
        };
        Self { target_type, target_id, target_name, project_id, project_name, key, from, to, pointer }
    }
}

impl From<PeopleTreeChanged> for PeopleTreeWritten {
    fn from(changed: PeopleTreeChanged) -> Self {
        let PeopleTreeChanged { changes, pinned, created, unchanged } = changed;
        let count =
            |is: fn(&TreeDifference) -> bool| changes.iter().filter(|change| is(&change.difference)).count() as u64;
        let set = count(|difference| matches!(difference, TreeDifference::Weight { to: Some(_), .. }));
        let unset = count(|difference| matches!(difference, TreeDifference::Weight { to: None, .. }));
        let moved = count(|difference| matches!(difference, TreeDifference::Domain { .. }));
        Self {
            set,
            unset,
            moved,
            unchanged: unchanged as u64,
            created: created as u64,
            warnings: pinned_warning(&pinned).into_iter().collect(),
            items: changes.into_iter().map(PeopleTreeItem::from).collect(),
            pinned: pinned.into_iter().map(PeopleTreeItem::from).collect(),
        }
    }
}

/// The warning about values that stay as an admin has set them.
fn pinned_warning(pinned: &[TreeChange]) -> Option<InputWarning> {
    let first = pinned.first()?;
    let detail = "these values were set by hand, or are of projects that groups beyond the key have, so that they stay; `pinned` lists \
                  them. A weight that is unset follows the tree again, and so does a project with `domain_pinned` false";
    let warning = InputWarning::at(first.pointer.clone().unwrap_or_default(), "pinned", detail);
    Some(warning.counted(pinned.len() as u64))
}
