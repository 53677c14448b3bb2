//! Shares that follow from the tree of a group as a whole (FAIR_SHARE §14).
//!
//! Under most sequencers the share of an owner follows from its own usage and from the weights above it. Slurm compares
//! siblings instead: an account with its sibling accounts, and a user with the other users of the account. So one change of
//! usage may change all shares of a group, and a [`ShareRule`] computes all of them at once.
//!
//! A [`ShareTree`] is the tree as Slurm has it: accounts below the root, accounts below accounts, and users below either.
//! Domains and projects are accounts. Two of them are no nodes of their own, because Slurm's accounts may have users and
//! accounts side by side:
//! - The domain [`ROOT_ACCOUNT`] is the root itself, so its projects are accounts right below the root.
//! - A project that has the name of its domain is the account of the domain, so its users are siblings of the projects.
//!
//! The tree has exact usage and exact weights. It reads neither the clock nor the names of people.
//!
//! Invariants:
//! - A node comes after its parent.
//! - The usage of an account is at least that of each part: it is the sum over its projects, and a project has the usage of
//!   users who are no longer in it, too.

use std::fmt;

use super::decimal::{Usage, f64_text};
use super::factor::Exponent;
use super::weight::Weight;

/// The account above all others, as Slurm calls it.
pub const ROOT_ACCOUNT: &str = "root";

/// An account or a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeNode {
    /// The index of the account above; `None` right below the root.
    pub parent: Option<usize>,
    pub weight: Weight,
    /// Decayed usage in slot-seconds.
    pub used: Usage,
    pub is_user: bool,
}

/// Accounts and users, each after its parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShareTree {
    nodes: Vec<TreeNode>,
    /// The usage of the whole group.
    used: Usage,
}

impl ShareTree {
    /// Adds a node below an account that was added before, or below the root. Its usage is not added to that of the account.
    /// Returns its index.
    pub fn add(&mut self, node: TreeNode) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Adds to the usage of an account and of all accounts above it; `None` stands for the root.
    pub fn add_usage(&mut self, account: Option<usize>, more: Usage) {
        self.used += more;
        let mut next = account;
        while let Some(node) = next.and_then(|at| self.nodes.get_mut(at)) {
            node.used += more;
            next = node.parent;
        }
    }

    pub fn nodes(&self) -> &[TreeNode] {
        &self.nodes
    }

    /// The decayed usage of the group in slot-seconds.
    pub fn used(&self) -> Usage {
        self.used
    }

    /// The number of users, each counted once for each of its projects.
    pub fn count_users(&self) -> usize {
        self.nodes.iter().filter(|node| node.is_user).count()
    }

    /// The usage of the account above a node.
    pub fn used_above(&self, node: &TreeNode) -> Usage {
        node.parent.map_or(self.used, |parent| self.nodes[parent].used)
    }

    /// The nodes from right below the root down to this one.
    pub fn path(&self, node: usize) -> Vec<usize> {
        let mut path: Vec<usize> = std::iter::successors(Some(node), |at| self.nodes[*at].parent).collect();
        path.reverse();
        path
    }

    /// The children of the root, and those of each node, in the order of the nodes.
    pub fn children(&self) -> (Vec<usize>, Vec<Vec<usize>>) {
        let (mut below_root, mut below) = (Vec::new(), vec![Vec::new(); self.nodes.len()]);
        for (at, node) in self.nodes.iter().enumerate() {
            node.parent.map_or(&mut below_root, |parent| &mut below[parent]).push(at);
        }
        (below_root, below)
    }

    /// The part of each node in the weights of all children of its parent, in 0..=1: `NormShares` of `sshare` for one level.
    pub fn parts_of_siblings(&self) -> Vec<f64> {
        let units = |node: &TreeNode| u128::from(node.weight.ten_thousandths().unsigned_abs());
        let (mut below_root, mut below) = (0u128, vec![0u128; self.nodes.len()]);
        for node in &self.nodes {
            *node.parent.map_or(&mut below_root, |parent| &mut below[parent]) += units(node);
        }
        let sum = |node: &TreeNode| node.parent.map_or(below_root, |parent| below[parent]);
        self.nodes.iter().map(|node| units(node) as f64 / sum(node) as f64).collect()
    }
}

/// `part / whole` in 0..=1; 0 if there is no usage at all.
pub fn usage_ratio(part: Usage, whole: Usage) -> f64 {
    if whole.is_zero() { 0.0 } else { (part.to_f64() / whole.to_f64()).min(1.0) }
}

/// The share of a node, with the figures that `sshare -l` prints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeShare {
    /// The part of the shares: `NormShares`, in 0..=1.
    pub normalized_shares: f64,
    /// The part of the usage of the group: `NormUsage`, in 0..=1.
    pub normalized_usage: f64,
    /// The usage that is compared with the shares: `EffectvUsage`, in 0..=1.
    pub effective_usage: f64,
    /// 0..=1, 1 is best: `FairShare` of users.
    pub fair_share_factor: f64,
    /// The key of order and rank; smaller comes first.
    pub exponent: Exponent,
}

impl NodeShare {
    /// `LevelFS` of `sshare -l`: shares over usage. It is infinite without usage.
    pub fn level_fair_share(&self) -> f64 {
        self.normalized_shares / self.effective_usage
    }

    /// The factor as it follows from usage and shares, in one line.
    pub fn exponent_formula(&self) -> String {
        let [used, shares, factor] =
            [self.effective_usage, self.normalized_shares, self.fair_share_factor].map(f64_text);
        format!("2 ^ -({used} / {shares}) = {factor}")
    }

    /// The share of the root, which competes with nothing.
    pub const ROOT: Self = Self {
        normalized_shares: 1.0,
        normalized_usage: 1.0,
        effective_usage: 1.0,
        fair_share_factor: 1.0,
        exponent: Exponent::ZERO,
    };
}

/// A rule that computes all shares of a group at once.
pub trait ShareRule: Sync {
    /// The name of the sequencer that orders by these shares.
    fn rule_name(&self) -> &'static str;

    /// The shares of all nodes, in the order of the nodes.
    fn shares(&self, tree: &ShareTree) -> Vec<NodeShare>;

    /// The factor of a node with the figures that it follows from, in one line.
    fn formula(&self, tree: &ShareTree, node: &TreeNode, share: &NodeShare) -> String;

    /// True if siblings are compared from the root down; false if users are compared with each other at once.
    fn compares_siblings(&self) -> bool;
}

impl fmt::Debug for dyn ShareRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule_name())
    }
}

/// The conditions that shares are weighed under.
#[derive(Clone, Copy, Debug)]
pub struct WeighingTerms {
    /// The weight of owners that have none.
    pub default_weight: Weight,
    /// The rule of the group's sequencer; `None`: each share follows from the owner's own exponent (FAIR_SHARE §7).
    pub rule: Option<&'static dyn ShareRule>,
}

impl From<Weight> for WeighingTerms {
    /// The terms of sequencers without a rule.
    fn from(default_weight: Weight) -> Self {
        Self { default_weight, rule: None }
    }
}

impl PartialEq for WeighingTerms {
    fn eq(&self, other: &Self) -> bool {
        let name = |terms: &Self| terms.rule.map(ShareRule::rule_name);
        self.default_weight == other.default_weight && name(self) == name(other)
    }
}
