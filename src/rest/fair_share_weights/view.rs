//! Weights as REST shows them, and the body that sets and unsets them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api::input_warning::InputWarning;
use crate::domain::ids::Owner;
use crate::domain::reading::{ReadOnly, at_most};
use crate::domain::weight::Weight;
use crate::engine::audit::label;
use crate::engine::people::PeopleDirectory;
use crate::service::people::RequestNames;
use crate::service::share_parts::ShareParts;
use crate::service::weight_input::{TargetType, WeightChange, check_all, names_in};
use crate::service::weights::{WeightItem, WeightRow};
use crate::service::{Error, VisibleGroup};

pub use crate::service::weight_input::MAX_ITEMS;

/// One weight that an admin has set.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "id": "5d2f0a9e-6a7c-5b38-8a58-2a1f6e2a5b6d", "target_type": "user", "target_id": "6f0c8f3e-5b0c-4f0d-9a55-1d2f3c4b5a69",
    "project_id": "0b8a1c52-7c59-4d6f-8d1e-5b2a3c4d5e6f", "target_name": "alice", "project_name": "climate", "weight": "1.5",
    "nominal_share": "0.1", "nominal_share_of_parent": "0.5", "entitled_share": "0.25", "entitled_share_of_parent": "0.5"
}))]
pub struct WeightView {
    /// Stable for one target of one group.
    pub id: Uuid,
    pub target_type: TargetType,
    /// A domain's name, or the UUID of a project or user.
    pub target_id: String,
    /// In which of the user's projects; only for users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<Uuid>,
    /// The name to show beside `target_id`, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub target_name: Option<Arc<str>>,
    /// The name to show beside `project_id`, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub project_name: Option<Arc<str>>,
    pub weight: Option<Weight>,
    #[serde(flatten)]
    pub shares: ShareParts,
}

impl WeightView {
    pub fn new(group: &VisibleGroup, people: &PeopleDirectory, row: &WeightRow) -> Self {
        let shares = group.entitlement(&row.target).into();
        let id = Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("{}/{}", group.name, label(&row.target)).as_bytes());
        let names = match &row.target {
            Owner::Domain(_) => (None, None),
            Owner::Project(project) => (people.project_name(*project), None),
            Owner::User(member) => people.names(*member),
        };
        let (target_type, target_id, project_id) = TargetType::of_owner(&row.target);
        let (target_name, project_name) = names;
        Self { id, target_type, target_id, project_id, target_name, project_name, weight: row.weight, shares }
    }
}

/// Every weight that is set.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "items": [
        {
            "id": "b113b6d9-6166-58d3-b193-09af48f1fa3f", "target_type": "domain", "target_id": "research",
            "weight": "2", "nominal_share": "0.444444444444", "nominal_share_of_parent": "0.444444444444",
            "entitled_share": "0.444444444444", "entitled_share_of_parent": "0.444444444444"
        }
    ],
    "config_revision": "7.e4a1686f"
}))]
pub struct WeightList {
    /// Domains, then projects, then users.
    pub items: Vec<WeightView>,
    /// Moves with every change of the group's configuration; for `if_revision`.
    pub config_revision: String,
}

/// Weights to set and to unset, all or nothing.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "items": [
        {"target_type": "domain", "target_id": "research", "weight": "2.0"},
        {"target_type": "project", "project": "climate", "weight": "1.5"},
        {"target_type": "user", "target_id": "6f0c8f3e-5b0c-4f0d-9a55-1d2f3c4b5a69", "weight": null}
    ]
}))]
pub struct WeightChanges {
    #[serde(deserialize_with = "at_most::<MAX_ITEMS, _, _>")]
    #[schema(max_items = 250_000)]
    pub items: Vec<WeightChange>,
    /// Why, for the audit log.
    pub reason: Option<String>,
    /// The `config_revision` that the change is based on; another one refuses it with 409 `config_changed`.
    pub if_revision: Option<String>,
    #[serde(default)]
    #[schema(inline)]
    pub config_revision: ReadOnly,
}

impl WeightChanges {
    /// Checks the rules that the types do not enforce. The error lists the first faults.
    pub fn into_items(self, people: &PeopleDirectory) -> Result<Vec<WeightItem>, Error> {
        check_all(self.items, "items", people)
    }

    /// The names of users and projects in the request.
    pub fn called(&self) -> RequestNames {
        let mut called = RequestNames::default();
        names_in(&self.items, "items", &mut called);
        called
    }
}

/// The result of a write.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"ok": true, "upserted": 2, "deleted": 1}))]
pub struct WeightsWritten {
    pub ok: bool,
    /// Weights that were set, changed or confirmed.
    pub upserted: u64,
    /// Weights that were set before and are not any more.
    pub deleted: u64,
    /// Likely mistakes; absent where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<InputWarning>,
}
