//! The nodes of a tree of people, and what its names stand for.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::api::people_tree::{DomainBranch, MAX_NODES, PeopleTree, ProjectBranch, UserLeaf};
use crate::domain::ids::{Member, Owner, ProjectId};
use crate::domain::weight::Weight;
use crate::engine::people::{PeopleDirectory, lookup};
use crate::service::{Error, Fault, RequestFaults, Result};

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

/// The nodes of a tree: each domain before its projects, and each project before its users. The error lists the first faults.
pub(super) fn read_nodes(tree: &PeopleTree, people: &PeopleDirectory) -> Result<Vec<PeopleTreeNode>> {
    if tree.count_nodes() > MAX_NODES {
        let detail = format!("a tree has at most {MAX_NODES} domains, projects and users together");
        return Err(Error::invalid("/domains", "too_many", detail));
    }
    let mut reading =
        NodeReading { people, nodes: Vec::new(), seen: BTreeSet::new(), faults: RequestFaults::default() };
    for (at, branch) in tree.domains.iter().enumerate() {
        if reading.faults.are_enough() {
            break;
        }
        reading.read_domain(branch, &format!("/domains/{at}"));
    }
    reading.faults.or(reading.nodes)
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
