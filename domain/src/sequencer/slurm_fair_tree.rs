//! `slurm_fair_tree`: the order of Slurm's fair tree (FAIR_SHARE §14), after `fair_tree.c` of Slurm 22.05.

use std::cmp::Ordering;

use super::OwnerReason;
use super::slurm::SlurmOrder;
use crate::decimal::f64_text;
use crate::factor::Exponent;
use crate::share_tree::{NodeShare, ShareRule, ShareTree, TreeNode, usage_ratio};

pub(super) static SLURM_FAIR_TREE: SlurmOrder = SlurmOrder {
    rule: &SlurmFairTree,
    summary: "As Slurm's fair tree: of siblings, the account or user with the least usage for its shares starts first.",
    success_message: "Sessions sequenced by Slurm's fair tree",
    reason: &OwnerReason {
        name: "level_fair_share",
        sentence: "Going down from the root, the account or the user of the one ahead has the higher LevelFS: it has used less for \
                   its shares than its sibling.",
    },
};

/// Siblings are compared by shares over usage, from the root down, and users are ranked in the order in which they are
/// reached.
struct SlurmFairTree;

impl ShareRule for SlurmFairTree {
    fn rule_name(&self) -> &'static str {
        "slurm_fair_tree"
    }

    fn shares(&self, tree: &ShareTree) -> Vec<NodeShare> {
        let users = tree.count_users();
        let ranks = UserRanks::of(tree, users);
        let node_share = |((node, normalized_shares), rank): ((&TreeNode, f64), usize)| {
            let effective_usage = usage_ratio(node.used, tree.used_above(node));
            let over_shares = effective_usage / normalized_shares;
            let (fair_share_factor, exponent) = if node.is_user {
                (rank as f64 / users as f64, Exponent::of_position(users - rank))
            } else {
                ((-over_shares).exp2(), Exponent::over(effective_usage, normalized_shares))
            };
            let normalized_usage = usage_ratio(node.used, tree.used());
            NodeShare { normalized_shares, normalized_usage, effective_usage, fair_share_factor, exponent }
        };
        let parts = tree.parts_of_siblings();
        tree.nodes().iter().zip(parts).zip(ranks).map(node_share).collect()
    }

    fn formula(&self, tree: &ShareTree, node: &TreeNode, share: &NodeShare) -> String {
        if !node.is_user {
            return share.exponent_formula();
        }
        let users = tree.count_users();
        let rank = (share.fair_share_factor * users as f64).round();
        format!("{rank} / {users} users = {}", f64_text(share.fair_share_factor))
    }

    fn compares_siblings(&self) -> bool {
        true
    }
}

/// Ranks users as Slurm does: the first one gets the number of all users, and each next one the rank below.
///
/// Ties are those of Slurm 22.05, which does not merge accounts:
/// - Users with the same `LevelFS` share a rank. The rank after them is lower by their number.
/// - A user comes before an account with the same `LevelFS`, and the first user below this account has the rank of the user.
/// - Of two accounts with the same `LevelFS`, the one that comes first in the tree gets its ranks first, and the first user
///   below the second one has the rank that was given last.
struct UserRanks<'a> {
    tree: &'a ShareTree,
    below: Vec<Vec<usize>>,
    /// By node; 0 for accounts.
    ranks: Vec<usize>,
    /// The rank that was given last.
    rank: usize,
    /// The rank of the next user that is not tied.
    next: usize,
}

impl<'a> UserRanks<'a> {
    fn of(tree: &'a ShareTree, users: usize) -> Vec<usize> {
        let (below_root, below) = tree.children();
        let mut ranks = Self { tree, below, ranks: vec![0; tree.nodes().len()], rank: users, next: users };
        ranks.rank_siblings(below_root, false);
        ranks.ranks
    }

    /// Ranks the users among the siblings and below them. The first of them is tied with the node before if `is_tied`.
    fn rank_siblings(&mut self, mut siblings: Vec<usize>, is_tied: bool) {
        let nodes = self.tree.nodes();
        siblings.sort_by(|one, other| order_of_siblings(&nodes[*one], &nodes[*other]));
        let mut before: Option<usize> = None;
        for at in siblings {
            let is_tied = match before {
                None => is_tied,
                Some(before) => cmp_level_fair_share(&nodes[before], &nodes[at]) == Ordering::Equal,
            };
            before = Some(at);
            if nodes[at].is_user {
                if !is_tied {
                    self.rank = self.next;
                }
                self.ranks[at] = self.rank;
                self.next -= 1;
            } else {
                let children = std::mem::take(&mut self.below[at]);
                self.rank_siblings(children, is_tied);
            }
        }
    }
}

/// The higher `LevelFS` first; of equals, users before accounts.
fn order_of_siblings(one: &TreeNode, other: &TreeNode) -> Ordering {
    cmp_level_fair_share(one, other).then(other.is_user.cmp(&one.is_user))
}

/// Compares siblings by `LevelFS`, the higher one first. `LevelFS` is (shares / shares of all siblings) / (usage / usage of the
/// parent); the divisors are the same for siblings, so that usage over shares decides, which is compared without rounding.
fn cmp_level_fair_share(one: &TreeNode, other: &TreeNode) -> Ordering {
    let units = |node: &TreeNode| node.weight.ten_thousandths().unsigned_abs();
    one.used.cmp_per_weight(units(one), other.used, units(other))
}
