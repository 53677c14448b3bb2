//! The tree that the sequencers of Slurm compare, with its shares, for explanations (FAIR_SHARE §14).

use crate::domain::hierarchy::{OwnerShareList, PlacedTree};
use crate::domain::ids::Owner;
use crate::domain::share_tree::{NodeShare, ShareRule};
use crate::domain::weight::Weight;

use super::rows::RankedRows;

/// A tree with the share of each of its nodes.
#[derive(Debug)]
pub struct TreeShares {
    pub rule: &'static dyn ShareRule,
    pub placed: PlacedTree,
    shares: Vec<NodeShare>,
}

impl TreeShares {
    pub fn of(rule: &'static dyn ShareRule, rows: &RankedRows, default: Weight) -> Self {
        let mut owners = OwnerShareList {
            domains: rows.domains.iter().map(|row| (&row.domain_name, &row.share)).collect(),
            projects: rows.projects().map(|row| (row.project_id, &row.domain_name, &row.share)).collect(),
            users: rows.users.iter().map(|row| (row.member, &row.share)).collect(),
        };
        owners.domains.sort_unstable_by_key(|(name, _)| *name);
        owners.projects.sort_unstable_by_key(|(id, ..)| *id);
        owners.users.sort_unstable_by_key(|(member, _)| *member);
        let placed = PlacedTree::of(&owners, default);
        let shares = rule.shares(&placed.tree);
        Self { rule, placed, shares }
    }

    /// The share of a node.
    pub fn share(&self, node: usize) -> &NodeShare {
        &self.shares[node]
    }

    /// The nodes from right below the root down to that of the owner; empty for the root.
    pub fn path(&self, owner: &Owner) -> Vec<usize> {
        self.placed.node_of(owner).map_or_else(Vec::new, |node| self.placed.tree.path(node))
    }
}
