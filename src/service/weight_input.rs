//! The weights of a request.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::people::RequestNames;
use super::weights::{WeightItem, WeightTarget};
use super::{Fault, RequestFaults, Result};
use crate::domain::ids::{Owner, ProjectId};
use crate::domain::reading::ReadOnly;
use crate::domain::weight::{Weight, deserialize_nullable_text};
use crate::engine::people::{PeopleDirectory, lookup};

/// The largest number of weights in one request.
pub const MAX_ITEMS: usize = 250_000;

/// The tier of the owner of a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetType {
    Domain,
    Project,
    User,
}

impl TargetType {
    /// The type and the id of an owner, and the project of a user.
    pub fn of_owner(owner: &Owner) -> (Self, String, Option<Uuid>) {
        match owner {
            Owner::Domain(name) => (Self::Domain, name.to_string(), None),
            Owner::Project(project) => (Self::Project, project.to_string(), None),
            Owner::User(member) => (Self::User, member.user.to_string(), Some(member.project.0)),
        }
    }
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
    #[serde(default)]
    #[schema(inline)]
    pub nominal_share: ReadOnly,
    #[serde(default)]
    #[schema(inline)]
    pub nominal_share_of_parent: ReadOnly,
    #[serde(default)]
    #[schema(inline)]
    pub entitled_share: ReadOnly,
    #[serde(default)]
    #[schema(inline)]
    pub entitled_share_of_parent: ReadOnly,
}

/// Checks what the types do not. Returns the first faults, with pointers below `/KEY/N`.
pub fn check_all(inputs: Vec<WeightChange>, key: &str, people: &PeopleDirectory) -> Result<Vec<WeightItem>> {
    let mut faults = RequestFaults::default();
    let items = inputs.into_iter().enumerate().filter_map(|(at, item)| {
        let fault = |fault: Fault| faults.push(Fault { pointer: format!("/{key}/{at}{}", fault.pointer), ..fault });
        item.check(people).map_err(fault).ok()
    });
    let items: Vec<WeightItem> = items.collect();
    faults.or(items)
}

/// The names by which the weights refer to domains, users and projects.
pub fn names_in(inputs: &[WeightChange], key: &str, called: &mut RequestNames) {
    for (at, item) in inputs.iter().enumerate() {
        if item.user.is_none() && item.project.is_none() && item.domain_name.is_none() {
            continue;
        }
        let place = format!("/{key}/{at}");
        called.domain(&place, "target_id", item.domain_name.as_deref());
        called.user(&place, "target_id", item.user.as_deref());
        let of_project = if item.target_type == TargetType::Project { "target_id" } else { "project_id" };
        called.project(&place, of_project, item.project.as_deref());
    }
}

impl WeightChange {
    fn check(self, people: &PeopleDirectory) -> std::result::Result<WeightItem, Fault> {
        self.refuse_foreign_keys()?;
        let target_id = self.target_id.as_deref();
        let project_id = self.project_id.map(ProjectId);
        let target = match self.target_type {
            TargetType::Domain => WeightTarget::Domain(self.domain(people)?),
            TargetType::Project => {
                let project_id =
                    target_id.map(|id| lookup::project_of_uuid_text(people, id, "/target_id")).transpose()?;
                WeightTarget::Project(of_target(
                    lookup::some_project(people, project_id, self.project.as_deref()),
                    "project",
                )?)
            }
            TargetType::User => {
                let user = target_id.map(|id| lookup::user_of_uuid_text(people, id, "/target_id")).transpose()?;
                let user = of_target(lookup::some_user(people, user, self.user.as_deref()), "user")?;
                WeightTarget::User(user, lookup::some_project(people, project_id, self.project.as_deref())?)
            }
        };
        let weight = self.weight.map(|text| Weight::parse(&text)).transpose();
        let weight = weight.map_err(|e| Fault::about("/weight", "invalid_weight", e))?;
        Ok(WeightItem { target, weight })
    }

    /// Refuses a key that belongs to another kind of target, because it would be ignored.
    fn refuse_foreign_keys(&self) -> std::result::Result<(), Fault> {
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

    fn domain(&self, people: &PeopleDirectory) -> std::result::Result<String, Fault> {
        let (pointer, name) = match (&self.target_id, &self.domain_name) {
            (Some(_), Some(_)) => return Err(lookup::reject_both("/domain_name", "domain_name", "target_id")),
            (Some(name), None) => ("/target_id", name),
            (None, Some(name)) => ("/domain_name", name),
            (None, None) => return Err(no_target("domain_name")),
        };
        people.check_domain_name(name).map_err(|e| Fault::about(pointer, "invalid_name", e))?;
        Ok(name.clone())
    }
}

/// The target, which every item names by `target_id` or by name.
fn of_target<T>(found: std::result::Result<Option<T>, Fault>, key: &str) -> std::result::Result<T, Fault> {
    match found {
        Err(fault) if fault.code == "give_one" => Err(lookup::reject_both(fault.pointer, key, "target_id")),
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
