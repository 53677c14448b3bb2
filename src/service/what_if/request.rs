//! The request of a simulation: changes of weights, options, capacities and people, and workloads to be ordered.

use std::num::NonZeroU32;
use std::sync::Arc;

use serde::Deserialize;
use utoipa::ToSchema;

use super::changes::{AddedMembership, RemovedMembership, WantedChanges};
use crate::api::sequence::{PendingWorkload, PlacedWorkload};
use crate::domain::ids::{Member, ProjectId, UserId};
use crate::domain::names::check_name;
use crate::domain::options::SequenceMode;
use crate::domain::reading::at_most;
use crate::domain::slots::SlotAmounts;
use crate::domain::weight::{Weight, deserialize_nullable_text};
use crate::engine::group::changes::options::OptionsPatch;
use crate::engine::people::{PeopleDirectory, lookup};
use crate::service::input::json::UnparsedObject;
use crate::service::input::terms::WriteTerms;
use crate::service::people::RequestNames;
use crate::service::weight_input::{MAX_ITEMS, WeightChange, check_all, names_in};
use crate::service::{Error, Fault, RequestFaults, Result};

/// The largest number of workloads in one simulation.
const MAX_WORKLOADS: usize = 100_000;
const MAX_PLACED: usize = 100_000;
/// The longest `scheduler_opts` of one simulation, in bytes. Other parts of a request are read into types of few bytes, and
/// this one into values of any kind.
const MAX_OPTIONS_BYTES: usize = 1 << 20;
/// The largest number of people that one simulation moves, adds or removes.
const MAX_PEOPLE: usize = 100_000;

/// Changes that are tried out together. Everything that is left out stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "weights": [{"target_type": "domain", "target_id": "research", "weight": "2"}], "scheduler_opts": {"half_life_days": 14}
}))]
pub struct FairShareSimulation<'a> {
    /// As `PUT …/fair-share-weights` takes them.
    #[serde(default, deserialize_with = "at_most::<MAX_ITEMS, _, _>")]
    #[schema(max_items = 250_000)]
    pub weights: Vec<WeightChange>,
    #[schema(schema_with = crate::domain::schemas::some_sequencer)]
    pub scheduler: Option<String>,
    /// Merged as `PATCH …/scheduler-options` does; `null` sets an option back to its default.
    #[schema(value_type = Option<Object>)]
    pub scheduler_opts: Option<UnparsedObject>,
    /// The total capacity of the agents from now on.
    #[schema(value_type = Option<std::collections::BTreeMap<String, String>>)]
    pub capacity: Option<SlotAmounts>,
    /// Projects of the group in other domains.
    #[serde(default, deserialize_with = "at_most::<MAX_PEOPLE, _, _>")]
    #[schema(max_items = 100_000)]
    pub projects: Vec<ProjectMove>,
    /// Users that the group does not have in these projects.
    #[serde(default, deserialize_with = "at_most::<MAX_PEOPLE, _, _>")]
    #[schema(max_items = 100_000)]
    pub add_users: Vec<AddedUser>,
    /// Users to be removed from the group. Their usage stays with their projects and domains.
    #[serde(default, deserialize_with = "at_most::<MAX_PEOPLE, _, _>")]
    #[schema(max_items = 100_000)]
    pub remove_users: Vec<RemovedUser>,
    /// Pending workloads, to be put in order before and after.
    #[serde(borrow, default, deserialize_with = "at_most::<MAX_WORKLOADS, _, _>")]
    #[schema(max_items = 100_000)]
    pub workloads: Vec<PendingWorkload<'a>>,
    /// How the order is made; by default, as the options before and after say.
    pub mode: Option<SequenceMode>,
    /// Workloads that have started and are not reported yet, as in a sequence.
    #[serde(borrow, default, deserialize_with = "at_most::<MAX_PLACED, _, _>")]
    #[schema(max_items = 100_000)]
    pub placed: Vec<PlacedWorkload<'a>>,
    /// How many domains, projects and users the answer shows, those with the largest change of rank first; all by default.
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub limit: Option<NonZeroU32>,
    /// True to make the changes: weights, options and domains of projects, in one transaction.
    #[serde(default)]
    pub apply: bool,
    /// The `config_revision` that the changes are based on; another one refuses them with 409 `config_changed`.
    pub if_revision: Option<String>,
    /// Why, for the audit log.
    pub reason: Option<String>,
}

/// A project in another domain.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectMove {
    /// This or `project`.
    #[schema(value_type = Option<uuid::Uuid>)]
    pub project_id: Option<ProjectId>,
    /// The project's name instead of the UUID.
    pub project: Option<String>,
    pub domain_name: String,
}

/// A user in a project, and perhaps the weight there.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddedUser {
    /// This or `user`.
    #[schema(value_type = Option<uuid::Uuid>)]
    pub user_uuid: Option<UserId>,
    /// The user's name instead of the UUID.
    pub user: Option<String>,
    /// This or `project`.
    #[schema(value_type = Option<uuid::Uuid>)]
    pub project_id: Option<ProjectId>,
    /// The project's name instead of the UUID.
    pub project: Option<String>,
    /// For a project that is new as well.
    pub domain_name: Option<String>,
    #[serde(default, deserialize_with = "deserialize_nullable_text")]
    #[schema(value_type = Option<Weight>)]
    pub weight: Option<String>,
}

/// A user, in one project or in all.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RemovedUser {
    /// This or `user`.
    #[schema(value_type = Option<uuid::Uuid>)]
    pub user_uuid: Option<UserId>,
    /// The user's name instead of the UUID.
    pub user: Option<String>,
    /// Without it, and without `project`: all of the user's projects in the group.
    #[schema(value_type = Option<uuid::Uuid>)]
    pub project_id: Option<ProjectId>,
    /// The project's name instead of the UUID.
    pub project: Option<String>,
}

type FaultResult<T> = std::result::Result<T, Fault>;

impl FairShareSimulation<'_> {
    /// The names by which the request refers to users and projects.
    pub(super) fn called(&self) -> RequestNames {
        let mut called = RequestNames::default();
        names_in(&self.weights, "weights", &mut called);
        for (at, entry) in self.projects.iter().enumerate() {
            called.project(&format!("/projects/{at}"), "project_id", entry.project.as_deref());
        }
        for (at, entry) in self.add_users.iter().enumerate() {
            let place = format!("/add_users/{at}");
            called.user(&place, "user_uuid", entry.user.as_deref());
            called.project(&place, "project_id", entry.project.as_deref());
        }
        for (at, entry) in self.remove_users.iter().enumerate() {
            let place = format!("/remove_users/{at}");
            called.user(&place, "user_uuid", entry.user.as_deref());
            called.project(&place, "project_id", entry.project.as_deref());
        }
        called
    }

    /// The changes by ids, and the terms of applying them. Every fault has its place.
    pub(super) fn into_changes(self, people: &PeopleDirectory) -> Result<(WantedChanges, WriteTerms)> {
        let mut faults = RequestFaults::default();
        if self.scheduler_opts.as_ref().is_some_and(|given| given.text().len() > MAX_OPTIONS_BYTES) {
            let said = format!("has more than {MAX_OPTIONS_BYTES} bytes");
            return Err(Error::about("/scheduler_opts", "too_large", said));
        }
        let scheduler_opts = self.scheduler_opts.map(|given| given.into_map("scheduler_opts")).transpose()?;
        let changes = WantedChanges {
            projects: check_each(self.projects, "projects", &mut faults, |entry| entry.check(people)),
            added: check_each(self.add_users, "add_users", &mut faults, |entry| entry.check(people)),
            removed: check_each(self.remove_users, "remove_users", &mut faults, |entry| entry.check(people)),
            weights: check_all(self.weights, "weights", people)?,
            options: OptionsPatch { scheduler: self.scheduler, scheduler_opts },
            capacity: self.capacity,
        };
        faults.or((changes, WriteTerms { reason: self.reason, if_revision: self.if_revision }))
    }
}

/// Checks every entry of a list. Faults get pointers into the list.
fn check_each<T, U>(
    entries: Vec<T>,
    key: &str,
    faults: &mut RequestFaults,
    check: impl Fn(T) -> FaultResult<U>,
) -> Vec<U> {
    let checked = entries.into_iter().enumerate().filter_map(|(at, entry)| {
        let fault = |fault: Fault| faults.push(Fault { pointer: format!("/{key}/{at}{}", fault.pointer), ..fault });
        check(entry).map_err(fault).ok()
    });
    checked.collect()
}

fn domain(name: &str) -> FaultResult<Arc<str>> {
    check_name(name).map_err(|error| Fault::about("/domain_name", "invalid_name", error))?;
    Ok(Arc::from(name))
}

impl ProjectMove {
    fn check(self, people: &PeopleDirectory) -> FaultResult<(ProjectId, Arc<str>)> {
        Ok((lookup::project(people, self.project_id, self.project.as_deref())?, domain(&self.domain_name)?))
    }
}

impl AddedUser {
    fn check(self, people: &PeopleDirectory) -> FaultResult<AddedMembership> {
        let weight = self.weight.map(|text| Weight::parse(&text)).transpose();
        Ok(AddedMembership {
            member: Member {
                user: lookup::user(people, self.user_uuid, self.user.as_deref())?,
                project: lookup::project(people, self.project_id, self.project.as_deref())?,
            },
            domain: self.domain_name.as_deref().map(domain).transpose()?,
            weight: weight.map_err(|error| Fault::about("/weight", "invalid_weight", error))?,
        })
    }
}

impl RemovedUser {
    fn check(self, people: &PeopleDirectory) -> FaultResult<RemovedMembership> {
        Ok(RemovedMembership {
            user: lookup::user(people, self.user_uuid, self.user.as_deref())?,
            project: lookup::some_project(people, self.project_id, self.project.as_deref())?,
        })
    }
}
