//! The position of an owner under a sequencer that compares the whole tree of a group, as those of Slurm do (FAIR_SHARE §14).

use super::answer::{FactorFormula, RankNeighbour, TreeLevel};
use super::page::ExplanationData;
use super::standing::{ComparedTier, OwnerPosition};
use crate::domain::decimal::f64_text;
use crate::domain::explain::candidate_order::CandidateOrder;
use crate::domain::explain::exact_text;
use crate::domain::explain::words::{NOT_RANKED, place_text};
use crate::domain::ids::Owner;
use crate::domain::ranking::RankedRow;
use crate::domain::share_tree::{NodeShare, ROOT_ACCOUNT};
use crate::domain::tier::Tier;
use crate::engine::group::snapshots::tree_shares::TreeShares;
use crate::service::{Error, Result};

fn tier_of(owner: &Owner) -> Tier {
    match owner {
        Owner::Domain(_) => Tier::Domain,
        Owner::Project(_) => Tier::Project,
        Owner::User(_) => Tier::User,
    }
}

impl ExplanationData<'_> {
    /// The parts of the buckets in all that counts, by the usage of the slot that the sequencer counts.
    pub fn parts_by_slot(&self, tree: &TreeShares) -> Vec<f64> {
        let decayed = self.recount.buckets.iter().map(|(bucket, count)| {
            let used = tree.placed.slot.and_then(|slot| bucket.usage.get(slot)).unwrap_or_default();
            count.decay_weight * used.to_f64()
        });
        let decayed: Vec<f64> = decayed.collect();
        let all: f64 = decayed.iter().sum();
        decayed.into_iter().map(|part| if all > 0.0 { part / all } else { 0.0 }).collect()
    }

    /// The place and the neighbours. The weights, the usage and the days that would change the place are not computed, because
    /// each of them would move other owners, too.
    pub fn tree_position<R: RankedRow>(
        &self,
        tree: &TreeShares,
        seen: &ComparedTier<R>,
        candidate_order: &CandidateOrder,
        wanted: Option<u32>,
    ) -> Result<OwnerPosition> {
        if wanted.is_some() {
            let detail = format!("has no answer under the scheduler `{}`", tree.rule.rule_name());
            return Err(Error::about("/place", "unsupported_scheduler", detail));
        }
        let of = candidate_order.count();
        let Some(number) = seen.number else { return Ok(OwnerPosition { of, ..OwnerPosition::default() }) };
        let neighbour = |other: usize, is_above: bool| {
            let their_owner = (seen.owner)(&seen.field.rows[other]);
            let (tier, because) = self.compare_in_tree(tree, &their_owner, is_above);
            let is_whole = self.group.whole().is_ok();
            RankNeighbour {
                decided_by: tier.as_str(),
                who: is_whole.then(|| (seen.whom)(&seen.field.rows[other])),
                place: is_whole.then(|| candidate_order.place(other)),
                theirs: None,
                yours: None,
                because,
            }
        };
        Ok(OwnerPosition {
            place: Some(candidate_order.place(number)),
            of,
            equals: candidate_order.count_equals(number),
            above: candidate_order.position_above(number).map(|other| neighbour(other, true)),
            below: candidate_order.below(number).map(|other| neighbour(other, false)),
            ..OwnerPosition::default()
        })
    }

    /// The tier that decides between the owner that is explained and another one, and why.
    fn compare_in_tree(&self, tree: &TreeShares, other: &Owner, is_above: bool) -> (Tier, String) {
        let (theirs, yours) = (tree.path(other), tree.path(&self.subject.owner()));
        let parted = theirs.iter().zip(&yours).find(|(one, two)| one != two).map(|(one, two)| (*one, *two));
        let ends = || theirs.last().copied().zip(yours.last().copied());
        let compared = if tree.rule.compares_siblings() { parted.or_else(ends) } else { ends() };
        let Some((theirs, yours)) = compared else {
            return (self.subject.tier(), "the root is compared with nothing.".to_owned());
        };
        let tier = tier_of(tree.placed.owner_of(yours));
        let (more, less) = if is_above { ("higher", "less") } else { ("lower", "more") };
        let [their_share, your_share] = [theirs, yours].map(|node| tree.share(node));
        let is_whole = self.group.whole().is_ok();
        if !tree.rule.compares_siblings() {
            let what = format!("the {} has {less} effective usage for the normalised shares", tier.as_str());
            if !is_whole {
                return (tier, format!("{what}."));
            }
            let ratio = |share: &NodeShare| {
                format!("{} / {}", f64_text(share.effective_usage), f64_text(share.normalized_shares))
            };
            return (tier, format!("{what}: {} is {less} than {}.", ratio(their_share), ratio(your_share)));
        }
        let account = tree.placed.tree.nodes()[yours].parent;
        let below = account.map_or_else(|| ROOT_ACCOUNT.to_owned(), |account| self.name_in_tree(tree, account));
        if !is_whole {
            return (tier, format!("below {below}, the other part of the tree has the {more} LevelFS."));
        }
        let [their_name, your_name] = [theirs, yours].map(|node| self.name_in_tree(tree, node));
        let [their_level, your_level] = [their_share, your_share].map(|share| f64_text(share.level_fair_share()));
        if their_level == your_level {
            let order = if is_above { "before" } else { "after" };
            return (
                tier,
                format!(
                    "below {below}, {their_name} and {your_name} both have the LevelFS {their_level}, and the users of \
                     {their_name} are ranked {order} those of {your_name}."
                ),
            );
        }
        (
            tier,
            format!(
                "below {below}, {their_name} has the {more} LevelFS: that of {their_name} is {their_level}, and that of \
                 {your_name} is {your_level}."
            ),
        )
    }

    /// The name of an account or a user; the id if no name is known.
    fn name_in_tree(&self, tree: &TreeShares, node: usize) -> String {
        let rows = &self.facts().rows;
        match tree.placed.owner_of(node) {
            Owner::Domain(name) => name.to_string(),
            Owner::Project(id) => {
                let name = rows.project(*id).and_then(|row| row.project_name.clone());
                name.map_or_else(|| id.to_string(), |name| name.to_string())
            }
            Owner::User(member) => {
                let name = rows.user(*member).and_then(|row| row.user_name.clone());
                name.map_or_else(|| member.user.to_string(), |name| name.to_string())
            }
        }
    }

    /// The figures of `sshare -l` of the owner and of the accounts above it, from the top down. Keys of users see only their own.
    pub fn tree_levels(&self, tree: &TreeShares) -> Vec<TreeLevel> {
        let path = tree.path(&self.subject.owner());
        let is_whole = self.group.whole().is_ok();
        let shown = path.iter().filter(|node| is_whole || Some(*node) == path.last());
        let level = |node: &usize| {
            let (share, node_of_tree) = (tree.share(*node), &tree.placed.tree.nodes()[*node]);
            TreeLevel {
                tier: tier_of(tree.placed.owner_of(*node)).as_str(),
                name: self.name_in_tree(tree, *node),
                raw_shares: node_of_tree.weight,
                normalized_shares: f64_text(share.normalized_shares),
                raw_usage: node_of_tree.used,
                normalized_usage: f64_text(share.normalized_usage),
                effective_usage: f64_text(share.effective_usage),
                fair_share: f64_text(share.fair_share_factor),
                level_fair_share: (share.effective_usage > 0.0).then(|| f64_text(share.level_fair_share())),
            }
        };
        shown.map(level).collect()
    }

    /// The formula of the sequencer, filled in.
    pub fn tree_formula(&self, tree: &TreeShares) -> FactorFormula {
        let factor = f64_text(self.share().fair_share_factor);
        let node = tree.placed.node_of(&self.subject.owner());
        let text = node.map_or_else(
            || format!("1 = {factor}"),
            |node| tree.rule.formula(&tree.placed.tree, &tree.placed.tree.nodes()[node], tree.share(node)),
        );
        FactorFormula {
            normalized_usage: exact_text(self.recount.normalized_usage),
            effective_weight: self.share().effective_weight,
            exponent: f64_text(self.share().exponent.to_f64()),
            fair_share_factor: factor,
            text,
        }
    }
}

impl OwnerPosition {
    /// The explanation in a few sentences. `formula` is the text of the formula.
    pub fn tree_summary(&self, tree: &TreeShares, formula: &str) -> String {
        let Some(place) = self.place else { return NOT_RANKED.to_owned() };
        let slot = tree.placed.slot.map_or("cpu", |slot| slot.as_str());
        format!(
            "{}. The factor is {formula}. The scheduler `{}` counts only the usage of {slot}, and divides it by no capacity.",
            place_text(place, self.of, self.equals),
            tree.rule.rule_name()
        )
    }
}
