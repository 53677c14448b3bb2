//! The tree of people of a group as it is, in the form in which a connector brings one, with what is pinned.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::ACTION;
use crate::domain::hierarchy::Share;
use crate::domain::ids::{Owner, ProjectId};
use crate::domain::weight::Weight;
use crate::engine::audit::label;
use crate::engine::group::snapshots::snapshot_data::GroupSnapshotData;
use crate::engine::people::PeopleDirectory;
use crate::service::{Caller, Result, Service};
use crate::store::audit_targets;

/// The domains, projects and users of a resource group, with their weights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(example = json!({
    "resource_group": "gpu-cluster",
    "domains": [{
        "domain_name": "physics", "weight": "3", "weight_pinned": false,
        "projects": [{
            "project": "climate", "domain_pinned": false, "weight": "2", "weight_pinned": true,
            "users": [{"user": "alice", "weight": "1", "weight_pinned": false}, {"user": "bob", "weight": null, "weight_pinned": false}]
        }]
    }]
}))]
pub struct CurrentPeopleTree {
    pub resource_group: String,
    /// By name.
    pub domains: Vec<CurrentDomain>,
}

/// A domain of a tree, with the projects that are in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CurrentDomain {
    pub domain_name: String,
    /// `null`: it is not set.
    #[schema(value_type = Option<Weight>)]
    pub weight: Option<String>,
    /// True if the weight was set by hand, so that no tree changes it.
    pub weight_pinned: bool,
    /// By name.
    pub projects: Vec<CurrentProject>,
}

/// A project of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CurrentProject {
    /// The name; the UUID of a project without one.
    pub project: String,
    /// True if an admin has set the domain, so that no tree moves the project.
    pub domain_pinned: bool,
    /// `null`: it is not set.
    #[schema(value_type = Option<Weight>)]
    pub weight: Option<String>,
    /// True if the weight was set by hand, so that no tree changes it.
    pub weight_pinned: bool,
    /// By name.
    pub users: Vec<CurrentUser>,
}

/// A user of a project of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CurrentUser {
    /// The name; the UUID of a user without one.
    pub user: String,
    /// The weight within the project; `null`: it is not set.
    #[schema(value_type = Option<Weight>)]
    pub weight: Option<String>,
    /// True if the weight was set by hand, so that no tree changes it.
    pub weight_pinned: bool,
}

impl Service {
    /// The tree of people of a group as it is. It takes two statements for each 30,000 weights.
    #[tracing::instrument(
        name = "service.people_tree.people_tree",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn people_tree(&self, caller: &Caller, group: &str) -> Result<CurrentPeopleTree> {
        caller.access().require_tree_reader()?;
        let visible = self.group(caller, group)?;
        let facts = visible.facts();
        let set: Vec<String> = facts.weights().iter().map(|row| label(&row.target)).collect();
        let of_trees = audit_targets::last_changed_by(&self.reads_for(caller.client()), group, &set, ACTION).await?;
        let build = || {
            let people = self.people();
            let tree = TreeReading { facts, people: &people, of_trees: &of_trees };
            Ok(CurrentPeopleTree { resource_group: group.to_owned(), domains: tree.domains() })
        };
        self.permits.scan(caller.client(), visible.count_users(), build).await
    }
}

/// The data that a tree is built from.
struct TreeReading<'a> {
    facts: &'a GroupSnapshotData,
    people: &'a PeopleDirectory,
    /// The owners whose weights came from a tree, by their names in the audit log.
    of_trees: &'a BTreeSet<String>,
}

impl TreeReading<'_> {
    fn domains(&self) -> Vec<CurrentDomain> {
        let mut domains: BTreeMap<Arc<str>, CurrentDomain> = BTreeMap::new();
        let empty = |name: &Arc<str>| {
            let (domain_name, projects) = (name.to_string(), Vec::new());
            CurrentDomain { domain_name, weight: None, weight_pinned: false, projects }
        };
        for row in self.facts.rows.domains.iter() {
            let (weight, weight_pinned) = self.weight(&Owner::Domain(Arc::clone(&row.domain_name)), &row.share);
            let domain = CurrentDomain { weight, weight_pinned, ..empty(&row.domain_name) };
            domains.insert(Arc::clone(&row.domain_name), domain);
        }
        let mut users = self.users();
        for row in self.facts.rows.projects() {
            let known = self.people.project(row.project_id);
            let domain = known.map_or(&row.domain_name, |known| &known.domain_name);
            let (weight, weight_pinned) = self.weight(&Owner::Project(row.project_id), &row.share);
            let project = CurrentProject {
                project: known
                    .and_then(|known| known.name.as_deref())
                    .map_or_else(|| row.project_id.to_string(), str::to_owned),
                domain_pinned: known.is_some_and(|known| known.domain_pinned),
                weight,
                weight_pinned,
                users: users.remove(&row.project_id).unwrap_or_default(),
            };
            domains.entry(Arc::clone(domain)).or_insert_with(|| empty(domain)).projects.push(project);
        }
        let mut domains: Vec<CurrentDomain> = domains.into_values().collect();
        for domain in &mut domains {
            domain.projects.sort_by(|a, b| a.project.cmp(&b.project));
        }
        domains
    }

    fn users(&self) -> BTreeMap<ProjectId, Vec<CurrentUser>> {
        let mut users: BTreeMap<ProjectId, Vec<CurrentUser>> = BTreeMap::new();
        for row in self.facts.rows.users.iter() {
            let id = row.member.user;
            let name = self.people.user(id).and_then(|known| known.name.as_deref());
            let (weight, weight_pinned) = self.weight(&Owner::User(row.member), &row.share);
            let user = name.map_or_else(|| id.to_string(), str::to_owned);
            users.entry(row.member.project).or_default().push(CurrentUser { user, weight, weight_pinned });
        }
        for of_project in users.values_mut() {
            of_project.sort_by(|a, b| a.user.cmp(&b.user));
        }
        users
    }

    /// The weight of an owner. It is pinned if its last change came from no tree.
    fn weight(&self, owner: &Owner, share: &Share) -> (Option<String>, bool) {
        let is_pinned = share.weight.is_some() && !self.of_trees.contains(&label(owner));
        (share.weight.map(|weight| weight.to_string()), is_pinned)
    }
}
