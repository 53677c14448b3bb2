//! The inputs of mutations, and the weights in them.

use async_graphql::{InputObject, MaybeUndefined};
use serde_json::{Map, Value};

use super::orders::FairShareWeightTargetType;
use super::scalars::{JsonString, Uuid};
use crate::api::input_warning::InputWarning;
use crate::domain::weight::Weight;
use crate::engine::people::{PeopleDirectory, lookup};
use crate::service::weights::{WeightItem, WeightTarget};
use crate::service::{Error, Fault, Result};

/// One weight. Null unsets it: the group's default applies.
#[derive(InputObject, Clone, Debug)]
#[graphql(rename_fields = "snake_case")]
pub struct FairShareWeightInput {
    pub target_type: FairShareWeightTargetType,
    /// The domain's name, or the id of the project or user.
    pub target_id: String,
    /// The project that a user's weight counts in; without it, all of the user's projects.
    pub project_id: Option<Uuid>,
    pub weight: MaybeUndefined<String>,
}

/// Many weights by kind.
#[derive(InputObject, Clone, Debug)]
#[graphql(rename_fields = "snake_case")]
#[expect(clippy::struct_field_names, reason = "names of the proposal")]
pub struct FairShareWeightsBulkInput {
    pub domain_weights: Option<Vec<DomainWeightInput>>,
    pub project_weights: Option<Vec<ProjectWeightInput>>,
    pub user_weights: Option<Vec<UserWeightInput>>,
}

#[derive(InputObject, Clone, Debug)]
#[graphql(rename_fields = "snake_case")]
pub struct DomainWeightInput {
    pub domain_name: String,
    /// Null unsets it.
    pub weight: MaybeUndefined<String>,
}

#[derive(InputObject, Clone, Debug)]
#[graphql(rename_fields = "snake_case")]
pub struct ProjectWeightInput {
    pub project_id: Uuid,
    /// Null unsets it.
    pub weight: MaybeUndefined<String>,
}

#[derive(InputObject, Clone, Debug)]
#[graphql(rename_fields = "snake_case")]
pub struct UserWeightInput {
    pub user_uuid: Uuid,
    /// A user can belong to several projects.
    pub project_id: Uuid,
    /// Null unsets it.
    pub weight: MaybeUndefined<String>,
}

/// The place of an item in the request. `by_id` is true if the item has its target in `target_id`.
pub struct ItemPlace {
    pointer: String,
    by_id: bool,
}

/// Weights to write, each with its place in the request, for the pointers of faults.
#[derive(Default)]
pub struct WeightItems {
    weights: Vec<WeightItem>,
    places: Vec<ItemPlace>,
    faults: Vec<Fault>,
}

impl WeightItems {
    /// Adds the item at `pointer`. The pointer is empty for a mutation about one weight.
    pub fn add(&mut self, pointer: &str, target: WeightTarget, weight: MaybeUndefined<String>) {
        self.add_at(ItemPlace { pointer: pointer.to_owned(), by_id: false }, target, weight);
    }

    /// The same for a target in the form of kind and id.
    pub fn add_by_id(&mut self, pointer: &str, target: WeightTarget, weight: MaybeUndefined<String>) {
        self.add_at(ItemPlace { pointer: pointer.to_owned(), by_id: true }, target, weight);
    }

    fn add_at(&mut self, place: ItemPlace, target: WeightTarget, weight: MaybeUndefined<String>) {
        let pointer = &place.pointer;
        match read_weight(weight) {
            Ok(weight) => {
                self.weights.push(WeightItem { target, weight });
                self.places.push(place);
            }
            Err((code, said)) => self.faults.push(Fault::about(format!("{pointer}/weight"), code, said)),
        }
    }

    pub fn add_listed(&mut self, people: &PeopleDirectory, items: Vec<FairShareWeightInput>) {
        for (at, item) in items.into_iter().enumerate() {
            let pointer = format!("/items/{at}");
            match read_target(people, item.target_type, &item.target_id, item.project_id) {
                Ok(target) => self.add_by_id(&pointer, target, item.weight),
                Err(fault) => self.faults.push(fault.below(&pointer)),
            }
        }
    }

    pub fn add_bulk(&mut self, people: &PeopleDirectory, input: FairShareWeightsBulkInput) {
        for (at, item) in input.domain_weights.into_iter().flatten().enumerate() {
            self.add(&format!("/input/domain_weights/{at}"), WeightTarget::Domain(item.domain_name), item.weight);
        }
        for (at, item) in input.project_weights.into_iter().flatten().enumerate() {
            let target = WeightTarget::Project(people.project_of_uuid(item.project_id.0));
            self.add(&format!("/input/project_weights/{at}"), target, item.weight);
        }
        for (at, item) in input.user_weights.into_iter().flatten().enumerate() {
            let member = people.member_of_uuids(item.user_uuid.0, item.project_id.0);
            let target = WeightTarget::User(member.user, Some(member.project));
            self.add(&format!("/input/user_weights/{at}"), target, item.weight);
        }
    }

    /// The items and their places, or all faults.
    pub fn finish(self) -> Result<(Vec<WeightItem>, Vec<ItemPlace>)> {
        if self.faults.is_empty() { Ok((self.weights, self.places)) } else { Err(Error::Invalid(self.faults)) }
    }
}

/// The options of a group. They must be an object.
pub fn read_options(options: Option<JsonString>) -> Result<Option<Map<String, Value>>> {
    match options.map(|options| options.0) {
        None => Ok(None),
        Some(Value::Object(map)) => Ok(Some(map)),
        Some(_) => Err(Error::about("/scheduler_opts", "invalid_value", "is not an object")),
    }
}

/// Changes the pointers of warnings about weights to the places of the items in the request.
pub fn relocate_warnings(mut warnings: Vec<InputWarning>, places: &[ItemPlace]) -> Vec<InputWarning> {
    for pointer in warnings.iter_mut().filter_map(|warning| warning.pointer.as_mut()) {
        let at = pointer.strip_prefix("/items/").and_then(|at| at.parse::<usize>().ok());
        if let Some(place) = at.and_then(|at| places.get(at)) {
            // A mutation about one weight has no list, so the warning is about its target.
            *pointer = if place.pointer.is_empty() { "/target_id".to_owned() } else { place.pointer.clone() };
        }
    }
    warnings
}

/// The target of an input, or the fault in it.
pub fn read_target(
    people: &PeopleDirectory,
    kind: FairShareWeightTargetType,
    id: &str,
    project: Option<Uuid>,
) -> std::result::Result<WeightTarget, Fault> {
    if project.is_some() && kind != FairShareWeightTargetType::User {
        return Err(Fault::about("/project_id", "contradiction", "belongs to the weight of a user only"));
    }
    Ok(match kind {
        FairShareWeightTargetType::Domain => WeightTarget::Domain(id.to_owned()),
        FairShareWeightTargetType::Project => {
            WeightTarget::Project(lookup::project_of_uuid_text(people, id, "/target_id")?)
        }
        FairShareWeightTargetType::User => {
            let user = lookup::user_of_uuid_text(people, id, "/target_id")?;
            WeightTarget::User(user, project.map(|id| people.project_of_uuid(id.0)))
        }
    })
}

/// A missing weight is a fault, unlike null, so that no weight is unset by mistake.
fn read_weight(weight: MaybeUndefined<String>) -> std::result::Result<Option<Weight>, (&'static str, String)> {
    match weight {
        MaybeUndefined::Undefined => Err(("missing_weight", "is missing; null unsets it".to_owned())),
        MaybeUndefined::Null => Ok(None),
        MaybeUndefined::Value(text) => Weight::parse(&text).map(Some).map_err(|e| ("invalid_weight", e.to_string())),
    }
}

/// Changes the pointers of faults to the places of the items in the request. For a mutation about one weight they point
/// to the argument.
pub fn relocate_faults(error: Error, places: &[ItemPlace]) -> Error {
    let Error::Invalid(faults) = error else { return error };
    let moved = faults.into_iter().map(|fault| {
        let place = fault.pointer.strip_prefix("/items/").and_then(|p| p.split('/').next());
        let Some(place) = place.and_then(|p| p.parse::<usize>().ok()).and_then(|at| places.get(at)) else {
            return fault;
        };
        let at = &place.pointer;
        let field = match fault.code {
            _ if place.by_id => fault.pointer.rsplit('/').next().unwrap_or("target_id"),
            "unknown_domain" => "domain_name",
            "unknown_project" | "unknown_membership" => "project_id",
            "unknown_user" => "user_uuid",
            _ => return Fault { pointer: at.clone(), ..fault },
        };
        let pointer = format!("{at}/{field}");
        Fault { pointer, ..fault }
    });
    Error::Invalid(moved.collect())
}
