//! The tree of a hierarchy, as rules of sequencers compare it, and weighing by such a rule (FAIR_SHARE §14).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Hierarchy, Share, WeighingResult};
use crate::decimal::Usage;
use crate::identity;
use crate::ids::{Member, Owner, ProjectId};
use crate::maps::FastMap;
use crate::share_tree::{NodeShare, ROOT_ACCOUNT, ShareRule, ShareTree, TreeNode};
use crate::slots::SlotName;
use crate::weight::{EffectiveWeight, Weight};

/// The tree of a group, with the node of each owner.
#[derive(Clone, Debug, Default)]
pub struct PlacedTree {
    pub tree: ShareTree,
    /// The slot whose usage is counted; `None` before a slot of its name is known.
    pub slot: Option<SlotName>,
    /// The owner of each node.
    owners: Vec<Owner>,
    domains: FastMap<Arc<str>, usize>,
    projects: FastMap<ProjectId, usize>,
    users: FastMap<Member, usize>,
}

/// The shares of all owners of a group, each tier ascending by id.
#[derive(Clone, Debug, Default)]
pub struct OwnerShareList<'a> {
    pub domains: Vec<(&'a Arc<str>, &'a Share)>,
    /// The projects, each with its domain.
    pub projects: Vec<(ProjectId, &'a Arc<str>, &'a Share)>,
    pub users: Vec<(Member, &'a Share)>,
}

impl OwnerShareList<'_> {
    /// The slot whose usage counts: `billing` if any was recorded in the look-back window, else `cpu`.
    fn counted_slot(&self) -> Option<SlotName> {
        let is_used = |slot: &SlotName| self.projects.iter().any(|(.., share)| !used(share, Some(*slot)).is_zero());
        SlotName::new("billing").filter(is_used).or_else(|| SlotName::new("cpu"))
    }
}

/// The decayed usage of a slot, in slot-seconds.
fn used(share: &Share, slot: Option<SlotName>) -> Usage {
    slot.and_then(|slot| share.history.total_decayed_usage.get(slot)).unwrap_or_default()
}

impl PlacedTree {
    /// The tree of these owners; `default` is the weight of owners that have none.
    pub fn of(owners: &OwnerShareList, default: Weight) -> Self {
        let slot = owners.counted_slot();
        let mut placed = Self { slot, ..Self::default() };
        // A domain may become known later than its projects.
        let known = owners.domains.iter().map(|(name, share)| (*name, share.weight.unwrap_or(default)));
        let named = owners.projects.iter().map(|(_, name, _)| (*name, default));
        let mut domains: BTreeMap<&Arc<str>, Weight> = named.collect();
        domains.extend(known);
        for (name, weight) in domains.into_iter().filter(|(name, _)| ***name != *ROOT_ACCOUNT) {
            let owner = Owner::Domain(Arc::clone(name));
            let node = placed.add(owner, TreeNode { parent: None, weight, used: Usage::ZERO, is_user: false });
            placed.domains.insert(Arc::clone(name), node);
        }
        for (id, domain, share) in &owners.projects {
            let mut account = placed.domains.get(*domain).copied();
            if *id != identity::project(domain) {
                let weight = share.weight.unwrap_or(default);
                let node = TreeNode { parent: account, weight, used: Usage::ZERO, is_user: false };
                account = Some(placed.add(Owner::Project(*id), node));
            }
            placed.tree.add_usage(account, used(share, slot));
            placed.projects.extend(account.map(|account| (*id, account)));
        }
        for (member, share) in &owners.users {
            let parent = placed.projects.get(&member.project).copied();
            let weight = share.weight.unwrap_or(default);
            let node = TreeNode { parent, weight, used: used(share, slot), is_user: true };
            let node = placed.add(Owner::User(*member), node);
            placed.users.insert(*member, node);
        }
        placed
    }

    fn add(&mut self, owner: Owner, node: TreeNode) -> usize {
        self.owners.push(owner);
        self.tree.add(node)
    }

    /// The owner of a node.
    pub fn owner_of(&self, node: usize) -> &Owner {
        &self.owners[node]
    }

    /// The node of an owner; `None` for the root, and for an owner that the group does not have.
    pub fn node_of(&self, owner: &Owner) -> Option<usize> {
        match owner {
            Owner::Domain(name) => self.domains.get(name).copied(),
            Owner::Project(id) => self.projects.get(id).copied(),
            Owner::User(member) => self.users.get(member).copied(),
        }
    }
}

impl Hierarchy {
    /// Weighs all owners by a rule. Owners that are neither in `touched` nor have another share than before have not moved;
    /// `None`: all have.
    pub(super) fn weigh_tree(
        &mut self,
        rule: &dyn ShareRule,
        default: Weight,
        touched: Option<&BTreeMap<Owner, bool>>,
    ) -> WeighingResult {
        let placed = self.placed_tree(default);
        let shares = rule.shares(&placed.tree);
        let owners: Vec<Owner> = self.owners().collect();
        let weights: Vec<EffectiveWeight> = owners.iter().map(|owner| self.effective_weight(owner, default)).collect();
        let mut weighed = WeighingResult::default();
        for (owner, weight) in owners.into_iter().zip(weights) {
            let node = placed.node_of(&owner);
            let Some(share) = self.share_mut(&owner) else { continue };
            let NodeShare { fair_share_factor, exponent, .. } = node.map_or(NodeShare::ROOT, |node| shares[node]);
            let is_other = share.effective_weight != weight || share.exponent != exponent;
            let other_factor = share.set(weight, fair_share_factor, exponent);
            if other_factor || is_other || touched.is_none_or(|touched| touched.contains_key(&owner)) {
                weighed.note(owner, other_factor);
            }
        }
        weighed
    }

    /// The tree that a rule compares; `default` is the weight of owners that have none.
    pub fn placed_tree(&self, default: Weight) -> PlacedTree {
        let owners = OwnerShareList {
            domains: self.domains.iter().collect(),
            projects: self.projects.iter().map(|(id, (domain, share))| (*id, domain, share)).collect(),
            users: self.users.iter().map(|(member, share)| (*member, share)).collect(),
        };
        PlacedTree::of(&owners, default)
    }
}
