//! Warns about probable mistakes in a queue tree (DIVISION §1). A warning never refuses anything.

use crate::decimal::Amount;
use crate::division::algorithms::{DivisionAlgorithm, DivisionOptions, WeightSource};
use crate::division::tree::QueueTree;
use crate::division::tree::warning::DivisionWarning;
use crate::queues::Bound;

/// All warnings about a tree under an algorithm: first what the tree corrected, then what is doubtful.
pub fn lint(tree: &QueueTree, algorithm: &dyn DivisionAlgorithm, options: &DivisionOptions) -> Vec<DivisionWarning> {
    let mut warnings = tree.raised.clone();
    for level in tree.levels() {
        children_above(tree, level, &mut warnings);
        min_shares_above(tree, level, &mut warnings);
    }
    for queue in 0..tree.len() {
        let weighs = algorithm.weighs(tree, options, queue);
        if algorithm.reads_min_shares() {
            nested_min_share(tree, queue, &mut warnings);
        }
        own_figures(tree, queue, weighs, &mut warnings);
        if !algorithm.keeps_guarantees(options) && tree.guarantee.row(queue).iter().any(|g| !g.is_zero()) {
            let detail = "has a guarantee, which only proportion with proportion_variant volcano reads";
            warnings.push(DivisionWarning::new("guarantee_not_read", Some(tree.name(queue)), None, detail));
        }
    }
    missing_capacity(tree, &mut warnings);
    warnings
}

/// Warns if the quotas of children exceed the parent's quota together, or those of the roots the capacity.
fn children_above(tree: &QueueTree, level: Option<usize>, warnings: &mut Vec<DivisionWarning>) {
    for (column, slot) in tree.slots.iter().enumerate() {
        let bound = level.map_or(Bound::Limited(tree.capacity[column]), |q| tree.quota[(q, column)]);
        let Bound::Limited(bound) = bound else { continue };
        let quotas = tree.children(level).iter().map(|c| tree.quota[(*c, column)]);
        // An unlimited quota counts as the total of its level (DIVISION §2.1): alone it fits under a capacity, but not
        // under a quota.
        let unlimited = if level.is_some() { Amount::MAX } else { bound };
        let sum = quotas.fold(Amount::ZERO, |sum, quota| sum.saturating_add(quota.unwrap_or(unlimited)));
        if sum > bound {
            let (code, what) = match level {
                Some(_) => ("children_quota_above_parent", "the children's quotas add up to more than the quota of"),
                None => ("quota_above_capacity", "the quotas add up to more than the capacity of"),
            };
            let queue = level.map(|q| tree.name(q));
            warnings.push(DivisionWarning::new(code, queue, Some(*slot), format!("{what} {bound} {slot}")));
        }
    }
}

fn min_shares_above(tree: &QueueTree, level: Option<usize>, warnings: &mut Vec<DivisionWarning>) {
    let ratios = tree.children(level).iter().map(|c| tree.queues[*c].min_share_ratio);
    let sum = ratios.fold(Amount::ZERO, Amount::saturating_add);
    if sum > Amount::whole(1) {
        let whose = if level.is_some() { "of its children" } else { "of the queues without a parent" };
        let detail = format!("the minimum shares {whose} add up to {sum}, above 1, and are scaled down");
        warnings.push(DivisionWarning::new("min_shares_above_1", level.map(|q| tree.name(q)), None, detail));
    }
}

/// Warns about a minimum share below a parent: it is a ratio of the whole group, but holds only as far as the parent's
/// share goes.
fn nested_min_share(tree: &QueueTree, queue: usize, warnings: &mut Vec<DivisionWarning>) {
    let known = &tree.queues[queue];
    if let Some(parent) = known.parent.filter(|_| !known.min_share_ratio.is_zero()) {
        let parent = tree.name(parent);
        let detail = format!("has a minimum share below {parent}: it holds only as far as the share of {parent} goes");
        warnings.push(DivisionWarning::new("nested_min_share", Some(tree.name(queue)), None, detail));
    }
}

fn own_figures(tree: &QueueTree, queue: usize, weighs: WeightSource, warnings: &mut Vec<DivisionWarning>) {
    let name = Some(tree.name(queue));
    let mut demand = false;
    for (column, slot) in tree.slots.iter().enumerate() {
        let cell = (queue, column);
        let (quota, limit, request) = (tree.quota[cell], tree.limit[cell], tree.request[cell]);
        demand |= !request.is_zero();
        if let Some(quota) = tree.quota_above_limit(queue, column) {
            let detail =
                format!("the limit of {limit} {slot} is below the quota of {quota}, which counts as the limit");
            warnings.push(DivisionWarning::new("limit_below_quota", name, Some(*slot), detail));
        }
        let has_weight = weighs != WeightSource::OverQuotaWeight || !tree.over_quota_weight[cell].is_zero();
        if !has_weight && Bound::Limited(tree.requestable(queue, column)) > quota {
            let detail = format!("wants more {slot} than its quota, but its over-quota weight is 0");
            warnings.push(DivisionWarning::new("zero_weight_with_demand", name, Some(*slot), detail));
        }
    }
    if weighs == WeightSource::Weight && demand && tree.queues[queue].weight.is_zero() {
        let detail = "has demand, but its weight is 0";
        warnings.push(DivisionWarning::new("zero_weight_with_demand", name, None, detail));
    }
}

fn missing_capacity(tree: &QueueTree, warnings: &mut Vec<DivisionWarning>) {
    for (column, slot) in tree.slots.iter().enumerate() {
        let wanted = || tree.children(None).iter().any(|q| !tree.request[(*q, column)].is_zero());
        if tree.capacity[column].is_zero() && wanted() {
            let detail = format!("queues want {slot}, of which there is no capacity");
            warnings.push(DivisionWarning::new("no_capacity", None, Some(*slot), detail));
        }
    }
}
