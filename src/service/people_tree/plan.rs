//! The changes that a tree makes to a group and to people.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;

use super::nodes::{PeopleTreeNode, read_nodes};
use super::{ACTION, NamedTarget, PeopleTreeChanged, TreeChange, TreeDifference};
use crate::api::people_tree::PeopleTree;
use crate::domain::ids::{Member, Owner, ProjectId};
use crate::domain::weight::Weight;
use crate::engine::audit::label;
use crate::engine::group::changes::projects::DomainAssignment;
use crate::engine::group::changes::record::ChangeRecord;
use crate::engine::group::state::GroupState;
use crate::engine::group::transaction::GroupTransaction;
use crate::engine::ingest::foreign_owners::ForeignOwners;
use crate::engine::people::PeopleDirectory;
use crate::service::{Caller, Result};
use crate::store::audit_targets;
use crate::store::people::{Domain, PeopleLock, PeopleRows, Project, User};

/// The changes of a tree, checked against the group and the people under their locks.
pub struct TreePlan {
    lock: PeopleLock,
    people: PeopleRows,
    moved: Vec<(ProjectId, DomainAssignment, DomainAssignment)>,
    /// The nodes that are new to the group, each with the domain that its project is in.
    new: Vec<(NamedTarget, Arc<str>)>,
    changes: Vec<TreeChange>,
    pinned: Vec<TreeChange>,
    unchanged: usize,
}

impl TreePlan {
    /// Finds the changes. Other writers of people wait until the transaction ends.
    pub async fn make(session: &mut GroupTransaction, caller: &Caller, tree: &PeopleTree) -> Result<Self> {
        let lock = session.lock_people().await?;
        let nodes = read_nodes(tree, &session.people())?;
        let mut plan = Self {
            lock,
            people: PeopleRows::default(),
            moved: Vec::new(),
            new: Vec::new(),
            changes: Vec::new(),
            pinned: Vec::new(),
            unchanged: 0,
        };
        let foreign = ForeignOwners::new(session.engine(), &[caller.principal.groups.as_deref()]);
        plan.plan_people(session, &foreign, &nodes);
        plan.plan_weights(session, &nodes).await?;
        Ok(plan)
    }

    /// Plans new people, and the moves of projects.
    fn plan_people(&mut self, session: &GroupTransaction, foreign: &ForeignOwners, nodes: &[PeopleTreeNode]) {
        let (people, now) = (session.people(), session.now);
        let mut users = BTreeSet::new();
        // Domains and projects come before what is in them.
        let mut domains: BTreeMap<ProjectId, Arc<str>> = BTreeMap::new();
        for node in nodes {
            match &node.owner {
                Owner::Domain(name) if people.domain(name).is_none() => {
                    self.people.domains.push(Domain::new(Arc::clone(name), now));
                }
                Owner::Domain(_) => {}
                Owner::Project(id) => match people.project(*id) {
                    None => {
                        let project = Project::new(*id, Arc::clone(&node.domain), now, now);
                        self.people.projects.push(Project { name: node.project_name.clone(), ..project });
                        domains.insert(*id, Arc::clone(&node.domain));
                    }
                    Some(known) => {
                        let is_fixed = known.domain_pinned || foreign.has_project(0, *id);
                        domains.insert(*id, self.plan_domain(known, node, is_fixed, session));
                    }
                },
                Owner::User(Member { user, .. }) => {
                    if people.user(*user).is_none() && users.insert(*user) {
                        self.people.users.push(User { name: node.user_name.clone(), ..User::new(*user, now) });
                    }
                }
            }
            if session.state().hierarchy.share(&node.owner).is_none() {
                let project = match &node.owner {
                    Owner::Domain(_) => None,
                    Owner::Project(id) => Some(*id),
                    Owner::User(member) => Some(member.project),
                };
                let domain = project.and_then(|id| domains.get(&id)).unwrap_or(&node.domain);
                self.new.push((node.target(), Arc::clone(domain)));
            }
        }
    }

    /// Plans the move of a known project. Returns the domain that it is in afterwards.
    fn plan_domain(
        &mut self,
        known: &Project,
        node: &PeopleTreeNode,
        is_fixed: bool,
        session: &GroupTransaction,
    ) -> Arc<str> {
        if known.domain_name == node.domain {
            return Arc::clone(&node.domain);
        }
        let difference = TreeDifference::Domain { from: Arc::clone(&known.domain_name), to: Arc::clone(&node.domain) };
        let change = TreeChange { target: node.target(), difference, pointer: Some(node.pointer.clone()) };
        if is_fixed {
            self.pinned.push(change);
            return Arc::clone(&known.domain_name);
        }
        let wanted = DomainAssignment { domain_name: Arc::clone(&node.domain), domain_pinned: false };
        self.people.projects.push(wanted.take(known, session.now));
        self.moved.push((known.id, DomainAssignment::of(known), wanted));
        self.changes.push(change);
        Arc::clone(&node.domain)
    }

    /// Plans the weights. Those that are set by hand stay.
    async fn plan_weights(&mut self, session: &GroupTransaction, nodes: &[PeopleTreeNode]) -> Result<()> {
        let differences = weight_differences(session.state(), nodes);
        let is_set = |difference: &&WeightDifference| difference.from.is_some();
        let set: Vec<String> = differences.iter().filter(is_set).map(|difference| label(&difference.owner)).collect();
        let of_trees = if set.is_empty() {
            BTreeSet::new()
        } else {
            audit_targets::last_changed_by(session.read(), session.group(), &set, ACTION).await?
        };
        let with_weight = nodes.iter().filter(|node| node.weight.is_some()).count();
        let mut differing = 0;
        for WeightDifference { owner, from, to, node } in differences {
            differing += usize::from(to.is_some());
            let is_pinned = from.is_some() && !of_trees.contains(&label(&owner));
            let target = node.map_or_else(|| named_target(&session.people(), owner), PeopleTreeNode::target);
            let difference = TreeDifference::Weight { from, to };
            let change = TreeChange { target, difference, pointer: node.map(|node| node.pointer.clone()) };
            if !is_pinned {
                self.changes.push(change);
            } else if to.is_some() {
                self.pinned.push(change);
            }
        }
        self.unchanged = with_weight - differing;
        Ok(())
    }

    /// Makes the changes, with an audit entry; if there are none, nothing is written.
    pub async fn apply(&mut self, session: &mut GroupTransaction, reason: Option<String>) -> Result<()> {
        let mut record = ChangeRecord::default();
        if !self.people.is_empty() {
            session.save_people(self.lock, std::mem::take(&mut self.people)).await?;
        }
        for (id, before, after) in &self.moved {
            // The name of the weight stands for changes of the weight alone, because the last of them says whether it was set by hand.
            let item = label(&Owner::Project(*id));
            record.note_under("projects", &item, id.to_string(), json!(before), json!(after));
            session.apply_to_state(|state| state.know_project(*id, &after.domain_name));
        }
        if !self.moved.is_empty() {
            session.show_again();
            session.reconfigure();
        }
        for (target, domain) in &self.new {
            let name = target.user_name.as_ref().or(target.project_name.as_ref()).unwrap_or(domain);
            record.note("created", &label(&target.owner), json!(null), json!(name));
            session.apply_to_state(|state| match &target.owner {
                Owner::Domain(name) => state.know_domain(name),
                Owner::Project(id) => state.know_project(*id, domain),
                Owner::User(member) => state.know_member(*member, domain),
            });
        }
        for change in &self.changes {
            if let TreeDifference::Weight { from, to } = change.difference {
                record.note("weights", &label(&change.target.owner), json!(from), json!(to));
                session.set_weight(&change.target.owner, to);
            }
        }
        record.write(session, ACTION, reason).await?;
        Ok(())
    }

    pub fn moved_projects(&self) -> Vec<ProjectId> {
        self.moved.iter().map(|(id, ..)| *id).collect()
    }

    pub fn into_changed(self) -> PeopleTreeChanged {
        let Self { changes, pinned, new, unchanged, .. } = self;
        PeopleTreeChanged { changes, pinned, created: new.len(), unchanged }
    }
}

/// A weight that is not as the tree has it.
struct WeightDifference<'a> {
    owner: Owner,
    from: Option<Weight>,
    to: Option<Weight>,
    /// `None`: the tree does not have the owner.
    node: Option<&'a PeopleTreeNode>,
}

/// The weights of the group that are not as the tree has them: first those of the tree, then the others by owner.
fn weight_differences<'a>(state: &GroupState, nodes: &'a [PeopleTreeNode]) -> Vec<WeightDifference<'a>> {
    let weight = |owner: &Owner| state.hierarchy.share(owner).and_then(|share| share.weight);
    let of_node = |node: &'a PeopleTreeNode| WeightDifference {
        owner: node.owner.clone(),
        from: weight(&node.owner),
        to: node.weight,
        node: Some(node),
    };
    let named: BTreeSet<&Owner> = nodes.iter().map(|node| &node.owner).collect();
    let mut others: Vec<Owner> =
        state.hierarchy.owners().filter(|owner| weight(owner).is_some() && !named.contains(owner)).collect();
    others.sort_unstable();
    let of_other = |owner: Owner| WeightDifference { from: weight(&owner), owner, to: None, node: None };
    let all = nodes.iter().map(of_node).chain(others.into_iter().map(of_other));
    all.filter(|difference| difference.from != difference.to).collect()
}

impl PeopleTreeNode {
    fn target(&self) -> NamedTarget {
        let Self { owner, project_name, user_name, .. } = self;
        NamedTarget { owner: owner.clone(), project_name: project_name.clone(), user_name: user_name.clone() }
    }
}

/// An owner that the tree does not have, with its names in the directory.
fn named_target(people: &PeopleDirectory, owner: Owner) -> NamedTarget {
    let (user_name, project_name) = match &owner {
        Owner::Domain(_) => (None, None),
        Owner::Project(id) => (None, people.project_name(*id)),
        Owner::User(member) => people.names(*member),
    };
    NamedTarget { owner, project_name, user_name }
}
