use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::ids::{ProjectId, UserId};
use crate::domain::ledger::Entity;
use crate::domain::names::check_name;
use crate::domain::reading::ReadOnly;
use crate::domain::weight::{Weight, deserialize_nullable_text};
use crate::service::weights::{Target, WeightItem, WeightRow, label};
use crate::service::{Error, Fault};

/// Whose weight.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetType {
    Domain,
    Project,
    User,
}

/// One weight that an admin has set.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "id": "5d2f0a9e-6a7c-5b38-8a58-2a1f6e2a5b6d", "target_type": "user", "target_id": "6f0c8f3e-5b0c-4f0d-9a55-1d2f3c4b5a69",
    "project_id": "0b8a1c52-7c59-4d6f-8d1e-5b2a3c4d5e6f", "weight": "1.5"
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
    pub weight: Option<Weight>,
}

impl WeightView {
    pub fn new(group: &str, row: WeightRow) -> Self {
        let id = Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("{group}/{}", label(&row.target)).as_bytes());
        let (target_type, target_id, project_id) = match row.target {
            Entity::Domain(name) => (TargetType::Domain, name.to_string(), None),
            Entity::Project(project) => (TargetType::Project, project.to_string(), None),
            Entity::User(member) => (TargetType::User, member.user.to_string(), Some(member.project.0)),
        };
        Self { id, target_type, target_id, project_id, weight: row.weight }
    }
}

/// Every weight that is set.
#[derive(Debug, Serialize, ToSchema)]
pub struct WeightList {
    /// Domains, then projects, then users.
    pub items: Vec<WeightView>,
}

/// Weights to set and to unset, all or nothing.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "items": [
        {"target_type": "domain", "target_id": "research", "weight": "2.0"},
        {"target_type": "project", "target_id": "0b8a1c52-7c59-4d6f-8d1e-5b2a3c4d5e6f", "weight": "1.5"},
        {"target_type": "user", "target_id": "6f0c8f3e-5b0c-4f0d-9a55-1d2f3c4b5a69", "weight": null}
    ]
}))]
pub struct WeightChanges {
    pub items: Vec<WeightChange>,
    /// Why, for the audit log.
    pub reason: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WeightChange {
    pub target_type: TargetType,
    /// A domain's name, or the UUID of a project or user.
    pub target_id: String,
    /// Only for users: in which project. Without it all of the user's projects in the group.
    pub project_id: Option<Uuid>,
    /// Above 0, at most 999999.9999, with at most 4 decimals; `null` unsets it.
    #[serde(deserialize_with = "deserialize_nullable_text")]
    #[schema(required = true, value_type = Option<Weight>)]
    pub weight: Option<String>,
    #[serde(default)]
    #[schema(inline)]
    pub id: ReadOnly,
}

impl WeightChanges {
    /// Checks what the types do not; every fault is named.
    pub fn into_items(self) -> Result<Vec<WeightItem>, Error> {
        let mut faults = Vec::new();
        let items = self.items.into_iter().enumerate().filter_map(|(at, item)| {
            item.check()
                .map_err(|(key, code, said)| faults.push(Fault::about(format!("/items/{at}/{key}"), code, said)))
                .ok()
        });
        let items: Vec<WeightItem> = items.collect();
        if faults.is_empty() { Ok(items) } else { Err(Error::Invalid(faults)) }
    }
}

impl WeightChange {
    fn check(self) -> Result<WeightItem, (&'static str, &'static str, String)> {
        let id =
            || self.target_id.parse::<Uuid>().map_err(|_| ("target_id", "invalid_uuid", "is not a UUID".to_owned()));
        let target = match self.target_type {
            TargetType::Domain => {
                check_name(&self.target_id).map_err(|e| ("target_id", "invalid_name", e.to_string()))?;
                Target::Domain(self.target_id)
            }
            TargetType::Project => Target::Project(ProjectId(id()?)),
            TargetType::User => Target::User(UserId(id()?), self.project_id.map(ProjectId)),
        };
        if self.project_id.is_some() && !matches!(target, Target::User(..)) {
            return Err(("project_id", "contradiction", "goes with users only".to_owned()));
        }
        let weight = self.weight.map(|text| Weight::parse(&text)).transpose();
        let weight = weight.map_err(|e| ("weight", "invalid_weight", e.to_string()))?;
        Ok(WeightItem { target, weight })
    }
}

/// What a write did.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"ok": true, "upserted": 2, "deleted": 1}))]
pub struct WeightsWritten {
    pub ok: bool,
    /// Weights that were set, changed or confirmed.
    pub upserted: u64,
    /// Weights that were set before and are not any more.
    pub deleted: u64,
}
