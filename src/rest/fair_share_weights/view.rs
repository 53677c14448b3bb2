use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::ids::{Owner, ProjectId, UserId};
use crate::domain::names::check_name;
use crate::domain::reading::{ReadOnly, at_most};
use crate::domain::weight::{Weight, deserialize_nullable_text};
use crate::service::audit::label;
use crate::service::people::{Directory, who};
use crate::service::weights::{Target, WeightItem, WeightRow};
use crate::service::{Error, Fault, Faults};

/// Whose weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
    "project_id": "0b8a1c52-7c59-4d6f-8d1e-5b2a3c4d5e6f", "target_name": "alice", "project_name": "climate", "weight": "1.5"
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
    /// What is shown beside `target_id`, where there is a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub target_name: Option<Arc<str>>,
    /// What is shown beside `project_id`, where there is a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub project_name: Option<Arc<str>>,
    pub weight: Option<Weight>,
}

impl WeightView {
    pub fn new(group: &str, people: &Directory, row: WeightRow) -> Self {
        let id = Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("{group}/{}", label(&row.target)).as_bytes());
        let names = match &row.target {
            Owner::Domain(_) => (None, None),
            Owner::Project(project) => (people.project_name(*project), None),
            Owner::User(member) => people.names(*member),
        };
        let (target_type, target_id, project_id) = match row.target {
            Owner::Domain(name) => (TargetType::Domain, name.to_string(), None),
            Owner::Project(project) => (TargetType::Project, project.to_string(), None),
            Owner::User(member) => (TargetType::User, member.user.to_string(), Some(member.project.0)),
        };
        let (target_name, project_name) = names;
        Self { id, target_type, target_id, project_id, target_name, project_name, weight: row.weight }
    }
}

/// Every weight that is set.
#[derive(Debug, Serialize, ToSchema)]
pub struct WeightList {
    /// Domains, then projects, then users.
    pub items: Vec<WeightView>,
}

/// The most weights that one request may name.
pub const MAX_ITEMS: usize = 250_000;

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
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WeightChange {
    pub target_type: TargetType,
    /// A domain's name, or the UUID of a project or user. This or the name.
    pub target_id: Option<String>,
    /// The name of a user, instead of `target_id`.
    pub user: Option<String>,
    /// The name of a project, instead of `target_id`, or for users instead of `project_id`.
    pub project: Option<String>,
    /// The name of a domain, instead of `target_id`.
    pub domain_name: Option<String>,
    /// Only for users: in which project. Without it all of the user's projects in the group.
    pub project_id: Option<Uuid>,
    /// Above 0, at most 999999.9999, with at most 4 decimals; `null` unsets it.
    #[serde(deserialize_with = "deserialize_nullable_text")]
    #[schema(required = true, value_type = Option<Weight>)]
    pub weight: Option<String>,
    #[serde(default)]
    #[schema(inline)]
    pub id: ReadOnly,
    #[serde(default)]
    #[schema(inline)]
    pub target_name: ReadOnly,
    #[serde(default)]
    #[schema(inline)]
    pub project_name: ReadOnly,
}

impl WeightChanges {
    /// Checks what the types do not; the first faults are named.
    pub fn into_items(self, people: &Directory) -> Result<Vec<WeightItem>, Error> {
        let mut faults = Faults::default();
        let items = self.items.into_iter().enumerate().filter_map(|(at, item)| {
            let fault = |fault: Fault| faults.push(Fault { pointer: format!("/items/{at}{}", fault.pointer), ..fault });
            item.check(people).map_err(fault).ok()
        });
        let items: Vec<WeightItem> = items.collect();
        faults.or(items)
    }
}

impl WeightChange {
    fn check(self, people: &Directory) -> Result<WeightItem, Fault> {
        self.refuse_foreign_keys()?;
        let id = |id: &Option<String>| {
            let uuid = id.as_deref().map(str::parse::<Uuid>).transpose();
            uuid.map_err(|_| Fault::about("/target_id", "invalid_uuid", "is not a UUID"))
        };
        let project_id = self.project_id.map(ProjectId);
        let target = match self.target_type {
            TargetType::Domain => Target::Domain(self.domain()?),
            TargetType::Project => {
                let project_id = id(&self.target_id)?.map(ProjectId);
                Target::Project(of_target(who::some_project(people, project_id, self.project.as_deref()), "project")?)
            }
            TargetType::User => {
                let user = id(&self.target_id)?.map(UserId);
                let user = of_target(who::some_user(people, user, self.user.as_deref()), "user")?;
                Target::User(user, who::some_project(people, project_id, self.project.as_deref())?)
            }
        };
        let weight = self.weight.map(|text| Weight::parse(&text)).transpose();
        let weight = weight.map_err(|e| Fault::about("/weight", "invalid_weight", e))?;
        Ok(WeightItem { target, weight })
    }

    /// A key that belongs to another kind of target would be ignored.
    fn refuse_foreign_keys(&self) -> Result<(), Fault> {
        let is = |kinds: &[TargetType]| kinds.contains(&self.target_type);
        let foreign = [
            (self.project_id.is_some() && !is(&[TargetType::User]), "/project_id", "goes with users only"),
            (self.user.is_some() && !is(&[TargetType::User]), "/user", "goes with the weight of a user only"),
            (
                self.project.is_some() && is(&[TargetType::Domain]),
                "/project",
                "does not go with the weight of a domain",
            ),
            (
                self.domain_name.is_some() && !is(&[TargetType::Domain]),
                "/domain_name",
                "goes with the weight of a domain only",
            ),
        ];
        let found = foreign.into_iter().find(|(is_there, ..)| *is_there);
        found.map_or(Ok(()), |(_, pointer, detail)| Err(Fault::about(pointer, "contradiction", detail)))
    }

    fn domain(&self) -> Result<String, Fault> {
        let (pointer, name) = match (&self.target_id, &self.domain_name) {
            (Some(_), Some(_)) => return Err(who::both("/domain_name", "domain_name", "target_id")),
            (Some(name), None) => ("/target_id", name),
            (None, Some(name)) => ("/domain_name", name),
            (None, None) => return Err(no_target("domain_name")),
        };
        check_name(name).map_err(|e| Fault::about(pointer, "invalid_name", e))?;
        Ok(name.clone())
    }
}

/// The target itself, which every item names by `target_id` or by name.
fn of_target<T>(found: Result<Option<T>, Fault>, key: &str) -> Result<T, Fault> {
    match found {
        Err(fault) if fault.code == "give_one" => Err(who::both(fault.pointer, key, "target_id")),
        found => found?.ok_or_else(|| no_target(key)),
    }
}

fn no_target(name: &str) -> Fault {
    Fault::new(
        "/target_id",
        "missing_field",
        format!("`target_id` is missing; the name may stand instead, as `{name}`"),
    )
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
