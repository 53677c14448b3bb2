//! The changes of a simulation, and their application to a copy of a group's state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::api::input_warning::InputWarning;
use crate::domain::ids::{Member, Owner, ProjectId, UserId};
use crate::domain::slots::{SlotAmounts, SlotNameSource};
use crate::domain::time::Timestamp;
use crate::domain::weight::Weight;
use crate::engine::group::calculate::ClockMoment;
use crate::engine::group::changes::options::{OptionsChange, OptionsPatch};
use crate::engine::group::changes::weights::{self, WeightItem};
use crate::engine::group::state::GroupState;
use crate::engine::people::PeopleDirectory;
use crate::service::weights::WeightTarget;
use crate::service::{Caller, Error, Fault, RequestFaults, Result};
use crate::store::agents::StoredAgent;
use crate::store::{ConnectionTrait, StreamTrait};

/// The changes of a request, by ids.
#[derive(Clone, Debug, Default)]
pub struct WantedChanges {
    pub weights: Vec<WeightItem>,
    pub options: OptionsPatch,
    pub capacity: Option<SlotAmounts>,
    pub projects: Vec<(ProjectId, Arc<str>)>,
    pub added: Vec<AddedMembership>,
    pub removed: Vec<RemovedMembership>,
}

/// A user who is not in the project yet.
#[derive(Clone, Debug)]
pub struct AddedMembership {
    pub member: Member,
    pub domain: Option<Arc<str>>,
    pub weight: Option<Weight>,
}

/// A user to be removed from a project; `None` for all projects.
#[derive(Clone, Copy, Debug)]
pub struct RemovedMembership {
    pub user: UserId,
    pub project: Option<ProjectId>,
}

impl WantedChanges {
    /// True if options are among the changes.
    pub fn sets_options(&self) -> bool {
        self.options.scheduler.is_some() || self.options.scheduler_opts.is_some()
    }

    /// True if rows are added, removed or moved.
    pub fn reshape(&self) -> bool {
        !(self.projects.is_empty() && self.added.is_empty() && self.removed.is_empty())
    }

    /// Refuses changes that cannot be applied, or not by this caller.
    pub fn require_applicable(&self, caller: &Caller) -> Result<()> {
        let not_made = [
            (self.capacity.is_some(), "/capacity", "is what agents offer: write the agents instead"),
            (
                !self.added.is_empty(),
                "/add_users",
                "can only be simulated: users come with their first kernel or weight",
            ),
            (!self.removed.is_empty(), "/remove_users", "can only be simulated: users are archived instead"),
        ];
        let faults: Vec<Fault> = not_made
            .into_iter()
            .filter(|(is_there, ..)| *is_there)
            .map(|(_, pointer, said)| Fault::about(pointer, "not_applicable", said))
            .collect();
        if !faults.is_empty() {
            return Err(Error::Invalid(faults));
        }
        // Projects belong to the whole server.
        if self.projects.is_empty() { Ok(()) } else { caller.require_all_groups() }
    }

    /// Moves projects, adds and removes users, and sets weights. Returns probable mistakes in the weights.
    pub fn make_people_and_weights(
        &self,
        state: &mut GroupState,
        people: &PeopleDirectory,
    ) -> Result<Vec<InputWarning>> {
        self.check_projects(state, people)?;
        for (project, domain) in &self.projects {
            state.know_project(*project, domain);
        }
        self.add(state, people)?;
        let gone = self.remove(state)?;
        self.weigh(state, people, &gone)
    }

    /// Refuses projects that the group does not have, that are named twice, or whose new domain is hidden.
    pub fn check_projects(&self, state: &GroupState, people: &PeopleDirectory) -> Result<()> {
        let (mut faults, mut seen) = (RequestFaults::default(), BTreeSet::new());
        for (at, (project, domain)) in self.projects.iter().enumerate() {
            let place = |key: &str| format!("/projects/{at}/{key}");
            if !state.hierarchy.projects().contains_key(project) {
                let detail = format!("this resource group has no project {project}");
                faults.push(Fault::new(place("project_id"), "unknown_project", detail));
            } else if !seen.insert(project) {
                faults.push(Fault::about(place("project_id"), "duplicate", "is listed twice"));
            } else if people.hides_domain(domain) {
                faults.push(Fault::about(place("domain_name"), "archived", "is archived: restore the domain first"));
            }
        }
        faults.or(())
    }

    fn add(&self, state: &mut GroupState, people: &PeopleDirectory) -> Result<()> {
        let mut faults = RequestFaults::default();
        for (at, AddedMembership { member, domain, weight }) in self.added.iter().enumerate() {
            let mut fault = |key: &str, code, said: String| {
                faults.push(Fault::new(format!("/add_users/{at}/{key}"), code, said));
            };
            if state.hierarchy.users().contains_key(member) {
                fault("user_uuid", "already_there", "the user is in this project of the group already".to_owned());
                continue;
            }
            let in_group = state.hierarchy.projects().get(&member.project).map(|(domain, _)| Arc::clone(domain));
            let assigned_domain =
                in_group.or_else(|| people.project(member.project).map(|known| Arc::clone(&known.domain_name)));
            match (assigned_domain, domain) {
                (Some(assigned_domain), Some(given_domain)) if assigned_domain != *given_domain => {
                    let said =
                        format!("the project is in the domain {assigned_domain:?}; `projects` puts it into another");
                    fault("domain_name", "contradiction", said);
                }
                (None, None) => {
                    let said = format!("there is no project {}; a new one needs `domain_name`", member.project);
                    fault("project_id", "unknown_project", said);
                }
                (assigned_domain, given_domain) => {
                    let Some(assigned_domain) = assigned_domain.or_else(|| given_domain.clone()) else { continue };
                    state.know_member(*member, &assigned_domain);
                    state.hierarchy.set_weight(&Owner::User(*member), *weight);
                }
            }
        }
        faults.or(())
    }

    /// Removes users. Returns the removed members.
    fn remove(&self, state: &mut GroupState) -> Result<BTreeSet<Member>> {
        if self.removed.is_empty() {
            return Ok(BTreeSet::new());
        }
        let mut of_user: BTreeMap<UserId, Vec<Member>> = BTreeMap::new();
        for member in state.hierarchy.users().keys() {
            of_user.entry(member.user).or_default().push(*member);
        }
        let (mut faults, mut gone) = (RequestFaults::default(), BTreeSet::new());
        for (at, RemovedMembership { user, project }) in self.removed.iter().enumerate() {
            let named = of_user.get(user).into_iter().flatten().filter(|m| project.is_none_or(|p| p == m.project));
            let before = gone.len();
            gone.extend(named.copied());
            if gone.len() == before {
                let detail = format!("the user {user} is not in this resource group, or is removed already");
                faults.push(Fault::new(format!("/remove_users/{at}/user_uuid"), "unknown_membership", detail));
            }
        }
        for member in &gone {
            state.hierarchy.remove_user(*member);
        }
        faults.or(gone)
    }

    fn weigh(
        &self,
        state: &mut GroupState,
        people: &PeopleDirectory,
        gone: &BTreeSet<Member>,
    ) -> Result<Vec<InputWarning>> {
        let mut faults = RequestFaults::default();
        for (at, item) in self.weights.iter().enumerate() {
            if let WeightTarget::User(user, Some(project)) = item.target
                && gone.contains(&Member { user, project })
            {
                let detail = "the user is removed from this project by the same request".to_owned();
                faults.push(Fault::new(format!("/weights/{at}/target_id"), "removed", detail));
            }
        }
        faults.or(())?;
        let changes = weights::plan_in(state, people, &self.weights).map_err(below_weights)?;
        let mut warnings = weights::warnings(people, &self.weights, &changes);
        for pointer in warnings.iter_mut().filter_map(|warning| warning.pointer.as_mut()) {
            *pointer = weights_pointer(pointer);
        }
        for change in changes {
            weights::know_in(state, people, &change.target)?;
            state.hierarchy.set_weight(&change.target, change.to);
        }
        Ok(warnings)
    }

    /// Replaces the capacity of the agents, and sets options. Returns true if usage has to be calculated again.
    pub async fn apply_capacity_and_options(
        &self,
        source: &SlotNameSource,
        state: &mut GroupState,
        db: &(impl ConnectionTrait + StreamTrait),
        moment: ClockMoment,
    ) -> Result<bool> {
        let mut recalculates = false;
        if let Some(capacity) = &self.capacity {
            state.observe_capacity(db, moment).await?;
            state.take_agents(vec![all_agents(capacity, moment.now)]);
            state.observe_capacity(db, moment).await?;
            recalculates = true;
        }
        if self.sets_options() {
            let change =
                OptionsChange::plan(source, &state.group.scheduler, &state.group.scheduler_opts, self.options.clone())?;
            recalculates |= change.take(db, state).await?;
        }
        Ok(recalculates)
    }
}

/// Converts a pointer into the items of a write to a pointer into the list of weights.
fn weights_pointer(pointer: &str) -> String {
    pointer.strip_prefix("/items").map_or_else(|| pointer.to_owned(), |rest| format!("/weights{rest}"))
}

/// Converts faults of weights, which are checked by the code of all writes under the name of items.
pub fn below_weights(error: Error) -> Error {
    let Error::Invalid(mut faults) = error else { return error };
    for fault in &mut faults {
        fault.pointer = weights_pointer(&fault.pointer);
    }
    Error::Invalid(faults)
}

/// One agent that replaces all agents.
fn all_agents(capacity: &SlotAmounts, now: Timestamp) -> StoredAgent {
    StoredAgent {
        agent_id: "simulated".to_owned(),
        available_slots: capacity.clone(),
        alive: true,
        schedulable: true,
        labels: BTreeMap::new(),
        taints: Vec::new(),
        updated_at: now,
    }
}
