//! The tree of people in a request, and what its names stand for.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::ids::{Member, Owner, ProjectId};
use crate::domain::reading::{ReadOnly, at_most};
use crate::domain::weight::{Weight, deserialize_nullable_text};
use crate::service::people::{PeopleDirectory, lookup};
use crate::service::{Error, Fault, RequestFaults, Result};

/// The largest number of domains, projects and users in one tree.
pub const MAX_NODES: usize = 250_000;

/// The domains, projects and users of a resource group, with their weights.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "resource_group": "gpu-cluster",
    "domains": [{
        "domain_name": "physics", "weight": "3",
        "projects": [{"project": "climate", "weight": "2", "users": [{"user": "alice", "weight": "1"}, {"user": "bob"}]}]
    }]
}))]
pub struct PeopleTree {
    /// The group whose weights the tree has.
    pub resource_group: String,
    /// At most 250,000 domains, projects and users together.
    #[serde(deserialize_with = "at_most::<MAX_NODES, _, _>")]
    #[schema(max_items = 250_000)]
    pub domains: Vec<DomainBranch>,
    /// Why, for the audit log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A domain with its projects.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DomainBranch {
    #[schema(example = "physics")]
    pub domain_name: String,
    /// Above 0, at most 999999.9999, with at most 4 decimals; absent or `null`: the tree sets none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "deserialize_nullable_text")]
    #[schema(value_type = Option<Weight>)]
    pub weight: Option<String>,
    // A key of the answer of GET. A comment for the document would give it the type of an object.
    #[serde(default, skip_serializing_if = "is_left_out")]
    #[schema(inline)]
    pub weight_pinned: ReadOnly,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "at_most::<MAX_NODES, _, _>")]
    #[schema(max_items = 250_000)]
    pub projects: Vec<ProjectBranch>,
}

/// A project with its users.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectBranch {
    /// The name; a UUID is read as a name.
    #[schema(example = "climate")]
    pub project: String,
    /// As that of a domain.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "deserialize_nullable_text")]
    #[schema(value_type = Option<Weight>)]
    pub weight: Option<String>,
    #[serde(default, skip_serializing_if = "is_left_out")]
    #[schema(inline)]
    pub weight_pinned: ReadOnly,
    #[serde(default, skip_serializing_if = "is_left_out")]
    #[schema(inline)]
    pub domain_pinned: ReadOnly,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "at_most::<MAX_NODES, _, _>")]
    #[schema(max_items = 250_000)]
    pub users: Vec<UserLeaf>,
}

/// A user of a project.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserLeaf {
    /// The name; a UUID is read as a name.
    #[schema(example = "alice")]
    pub user: String,
    /// The weight within the project, as that of a domain.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "deserialize_nullable_text")]
    #[schema(value_type = Option<Weight>)]
    pub weight: Option<String>,
    #[serde(default, skip_serializing_if = "is_left_out")]
    #[schema(inline)]
    pub weight_pinned: ReadOnly,
}

/// Always true: a connector sends no key that is ignored.
fn is_left_out<T>(_: &T) -> bool {
    true
}

/// A domain, project or user of the tree.
#[derive(Clone, Debug)]
pub struct PeopleTreeNode {
    pub owner: Owner,
    /// The domain that the tree names.
    pub domain: Arc<str>,
    pub project_name: Option<Arc<str>>,
    pub user_name: Option<Arc<str>>,
    /// `None`: the tree sets no weight.
    pub weight: Option<Weight>,
    /// The place in the request.
    pub pointer: String,
}

impl PeopleTree {
    /// The number of domains, projects and users.
    pub fn count_nodes(&self) -> usize {
        let projects = self.domains.iter().flat_map(|domain| &domain.projects);
        projects.map(|project| 1 + project.users.len()).sum::<usize>() + self.domains.len()
    }

    /// The nodes of the tree: each domain before its projects, and each project before its users. The error lists the first faults.
    pub(super) fn nodes(&self, people: &PeopleDirectory) -> Result<Vec<PeopleTreeNode>> {
        if self.count_nodes() > MAX_NODES {
            let detail = format!("a tree has at most {MAX_NODES} domains, projects and users together");
            return Err(Error::invalid("/domains", "too_many", detail));
        }
        let mut reading =
            NodeReading { people, nodes: Vec::new(), seen: BTreeSet::new(), faults: RequestFaults::default() };
        for (at, branch) in self.domains.iter().enumerate() {
            if reading.faults.are_enough() {
                break;
            }
            reading.read_domain(branch, &format!("/domains/{at}"));
        }
        reading.faults.or(reading.nodes)
    }
}

/// The nodes that are read, and the faults that were found.
struct NodeReading<'a> {
    people: &'a PeopleDirectory,
    nodes: Vec<PeopleTreeNode>,
    seen: BTreeSet<Owner>,
    faults: RequestFaults,
}

impl NodeReading<'_> {
    fn read_domain(&mut self, branch: &DomainBranch, pointer: &str) {
        let domain: Arc<str> = Arc::from(branch.domain_name.as_str());
        if let Err(error) = self.people.check_domain_name(&domain) {
            self.faults.push(Fault::about(format!("{pointer}/domain_name"), "invalid_name", error));
        }
        let node = PeopleTreeNode {
            owner: Owner::Domain(Arc::clone(&domain)),
            domain: Arc::clone(&domain),
            project_name: None,
            user_name: None,
            weight: self.read_weight(branch.weight.as_deref(), pointer),
            pointer: pointer.to_owned(),
        };
        self.add(node, "domain_name");
        for (at, project) in branch.projects.iter().enumerate() {
            self.read_project(&domain, project, &format!("{pointer}/projects/{at}"));
        }
    }

    fn read_project(&mut self, domain: &Arc<str>, branch: &ProjectBranch, pointer: &str) {
        let name: Arc<str> = Arc::from(branch.project.as_str());
        let found = lookup::some_project(self.people, None, Some(&name));
        let Some(id) = self.found(found, pointer) else { return };
        let node = PeopleTreeNode {
            owner: Owner::Project(id),
            domain: Arc::clone(domain),
            project_name: Some(Arc::clone(&name)),
            user_name: None,
            weight: self.read_weight(branch.weight.as_deref(), pointer),
            pointer: pointer.to_owned(),
        };
        self.add(node, "project");
        for (at, leaf) in branch.users.iter().enumerate() {
            self.read_user(domain, (&name, id), leaf, format!("{pointer}/users/{at}"));
        }
    }

    fn read_user(&mut self, domain: &Arc<str>, project: (&Arc<str>, ProjectId), leaf: &UserLeaf, pointer: String) {
        let name: Arc<str> = Arc::from(leaf.user.as_str());
        let found = lookup::some_user(self.people, None, Some(&name));
        let Some(user) = self.found(found, &pointer) else { return };
        let node = PeopleTreeNode {
            owner: Owner::User(Member { user, project: project.1 }),
            domain: Arc::clone(domain),
            project_name: Some(Arc::clone(project.0)),
            user_name: Some(name),
            weight: self.read_weight(leaf.weight.as_deref(), &pointer),
            pointer,
        };
        self.add(node, "user");
    }

    /// The id that a name stands for.
    fn found<I>(&mut self, found: std::result::Result<Option<I>, Fault>, pointer: &str) -> Option<I> {
        found.map_err(|fault| self.faults.push(fault.below(pointer))).ok().flatten()
    }

    fn read_weight(&mut self, text: Option<&str>, pointer: &str) -> Option<Weight> {
        let parsed = Weight::parse(text?);
        let fault = |error| Fault::about(format!("{pointer}/weight"), "invalid_weight", error);
        parsed.map_err(|error| self.faults.push(fault(error))).ok()
    }

    fn add(&mut self, node: PeopleTreeNode, key: &str) {
        if self.seen.insert(node.owner.clone()) {
            self.nodes.push(node);
        } else {
            self.faults.push(Fault::about(format!("{}/{key}", node.pointer), "duplicate_target", "is named twice"));
        }
    }
}
