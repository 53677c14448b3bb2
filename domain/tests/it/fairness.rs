//! Entitled shares and the report of fairness (FAIR_SHARE §11): worked examples, laws, and independent reference
//! calculations.

use domain::fairness::{
    EntityTree, FairnessEntity, MemberUsage, TierReport, WeightedClaimant, fill, jains_index, report,
};
use proptest::prelude::*;

use crate::support::cases;

const CLOSE: f64 = 1e-9;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < CLOSE
}

fn entities(of: &[(usize, f64)]) -> Vec<FairnessEntity> {
    of.iter().map(|(parent, weight)| FairnessEntity { parent: *parent, weight: *weight }).collect()
}

/// Two domains of weights 3 and 1; three projects, two in the first; four users.
fn small() -> EntityTree {
    EntityTree::new([
        entities(&[(0, 3.0), (0, 1.0)]),
        entities(&[(0, 1.0), (0, 2.0), (1, 1.0)]),
        entities(&[(0, 1.0), (1, 1.0), (1, 3.0), (2, 5.0)]),
    ])
}

#[test]
fn shares_are_the_product_of_the_parts_of_each_tier() {
    let nominal = small().nominal();
    assert_eq!(nominal[0].of_group, [0.75, 0.25]);
    assert_eq!(nominal[2].of_parent, [1.0, 0.25, 0.75, 1.0]);
    for (is, should) in nominal[2].of_group.iter().zip([0.25, 0.125, 0.375, 0.25]) {
        assert!(close(*is, should), "{is} {should}");
    }
}

#[test]
fn who_is_not_active_leaves_its_part_to_its_siblings() {
    let entitled = small().entitled(&[false, true, false, false]);
    assert_eq!(entitled[0].of_group, [1.0, 0.0]);
    assert_eq!(entitled[1].of_group, [0.0, 1.0, 0.0]);
    assert_eq!(entitled[2].of_group, [0.0, 1.0, 0.0, 0.0]);
    assert!(small().entitled(&[false; 4]).iter().all(|shares| shares.of_group.iter().all(|share| *share == 0.0)));
}

#[test]
fn what_one_does_not_need_goes_to_the_others_by_weight() {
    let claimant = |weight, limit| WeightedClaimant { weight, limit };
    let unlimited = f64::INFINITY;
    assert_eq!(fill(12.0, &[claimant(1.0, unlimited), claimant(2.0, unlimited)]), [4.0, 8.0]);
    assert_eq!(fill(12.0, &[claimant(1.0, unlimited), claimant(2.0, 3.0)]), [9.0, 3.0]);
    // Capacity beyond the needs of all is divided by weight.
    assert_eq!(fill(12.0, &[claimant(1.0, 1.0), claimant(2.0, 2.0)]), [4.0, 8.0]);
    assert_eq!(fill(12.0, &[]), [0.0; 0]);
}

/// The users of one project, with the usage of each and true if it waits.
fn one_tier(of: &[(f64, f64, bool)]) -> TierReport {
    let tree = EntityTree::new([entities(&of.iter().map(|(weight, ..)| (0, *weight)).collect::<Vec<_>>())]);
    let uses: Vec<MemberUsage> =
        of.iter().map(|(_, used, waits)| MemberUsage { used: *used, holds: false, waits: *waits }).collect();
    report(&tree, &uses).remove(0)
}

#[test]
fn the_example_of_the_documentation() {
    // ann and bob wait for more, and cleo asked for no more than she used.
    let report = one_tier(&[(2.0, 60.0, true), (1.0, 30.0, true), (1.0, 10.0, false)]);
    let entitled: Vec<f64> = report.entities.iter().map(|entity| entity.entitled_share).collect();
    assert!(entitled.iter().zip([0.6, 0.3, 0.1]).all(|(is, should)| close(*is, should)), "{entitled:?}");
    assert!(close(report.misallocated_share, 0.0) && close(report.jains_index, 1.0), "{report:?}");
    assert!(report.entities[2].demand_limited && !report.entities[0].demand_limited);
    let report = one_tier(&[(2.0, 60.0, true), (1.0, 30.0, true), (1.0, 10.0, true)]);
    assert!(close(report.misallocated_share, 0.15), "{report:?}");
    assert_eq!((report.most_over_served, report.most_under_served), (Some(0), Some(2)));
    assert!(close(report.entities[2].ratio, 0.4) && close(report.entities[2].error, -0.15), "{report:?}");
}

#[test]
fn without_anyone_active_there_is_nothing_to_tell() {
    assert_eq!(one_tier(&[(1.0, 0.0, false)]), TierReport::default());
    assert_eq!(one_tier(&[]), TierReport::default());
    // Where all wait and none has used anything, nothing is in the wrong hands.
    let waiting = one_tier(&[(1.0, 0.0, true), (3.0, 0.0, true)]);
    assert_eq!((waiting.misallocated_share, waiting.jains_index, waiting.most_under_served), (0.0, 1.0, None));
    assert!((waiting.entities[1].entitled_share - 0.75).abs() < 1e-15);
}

/// The level at which limits and water hold `total` together, found by bisection.
fn by_halving(total: f64, claimants: &[WeightedClaimant]) -> Vec<f64> {
    let at = |level: f64| claimants.iter().map(|c| c.limit.min(level * c.weight)).collect::<Vec<f64>>();
    let needed: f64 = claimants.iter().map(|c| c.limit).sum();
    let weights: f64 = claimants.iter().map(|c| c.weight).sum();
    if needed <= total {
        let rest = total - needed;
        return claimants.iter().map(|c| c.limit + rest * c.weight / weights).collect();
    }
    let (mut low, mut high) = (0.0, total / claimants.iter().map(|c| c.weight).fold(f64::MAX, f64::min) + 1.0);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if at(middle).iter().sum::<f64>() < total { low = middle } else { high = middle }
    }
    at(low)
}

fn claimants() -> impl Strategy<Value = Vec<WeightedClaimant>> {
    let limit = prop_oneof![Just(f64::INFINITY), Just(0.0), 0.0..2.0f64];
    let claimant = (0.1..10.0f64, limit).prop_map(|(weight, limit)| WeightedClaimant { weight, limit });
    proptest::collection::vec(claimant, 1..8)
}

/// Three tiers of any shape, with the usage of the last one.
fn scenes() -> impl Strategy<Value = (Vec<Vec<(usize, f64)>>, Vec<MemberUsage>)> {
    let tier = |most| proptest::collection::vec((0..4usize, 0.1..10.0f64), 1..most);
    let used = prop_oneof![Just(0.0), 0.0..100.0f64];
    let uses = (used, any::<bool>(), any::<bool>()).prop_map(|(used, holds, waits)| MemberUsage { used, holds, waits });
    ([tier(4), tier(6), tier(12)], proptest::collection::vec(uses, 12)).prop_map(|(tiers, uses)| {
        let mut parents = 1;
        let mut placed = Vec::new();
        for tier in tiers {
            let count = tier.len();
            placed.push(tier.into_iter().map(|(parent, weight)| (parent % parents, weight)).collect());
            parents = count;
        }
        let users: &Vec<_> = &placed[2];
        let uses = uses[..users.len()].to_vec();
        (placed, uses)
    })
}

fn tree(tiers: &[Vec<(usize, f64)>]) -> EntityTree {
    EntityTree::new(tiers.iter().map(|tier| entities(tier)))
}

fn is_one_or_nothing(sum: f64, some: bool) -> bool {
    if some { close(sum, 1.0) } else { sum == 0.0 }
}

proptest! {
    #![proptest_config(cases(512))]

    #[test]
    fn water_filling_is_that_of_a_search_for_the_level(claimants in claimants(), total in 0.0..5.0f64) {
        let filled = fill(total, &claimants);
        for (is, should) in filled.iter().zip(by_halving(total, &claimants)) {
            prop_assert!(close(*is, should), "{filled:?}");
        }
        prop_assert!(close(filled.iter().sum(), total));
    }

    #[test]
    fn jains_index_is_that_of_the_spread(figures in proptest::collection::vec(0.0..9.0f64, 1..20)) {
        let count = figures.len() as f64;
        let mean = figures.iter().sum::<f64>() / count;
        prop_assume!(mean > 1e-6);
        let variance = figures.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        prop_assert!(close(jains_index(figures), 1.0 / (1.0 + variance / mean.powi(2))));
    }

    #[test]
    fn sums_are_one_or_nothing_and_nothing_is_no_number((tiers, uses) in scenes()) {
        let tree = tree(&tiers);
        let some_active = uses.iter().any(MemberUsage::is_active);
        let some_used = uses.iter().any(|one| one.used > 0.0);
        for (tier, told) in report(&tree, &uses).iter().enumerate() {
            let sum = |of: fn(&domain::fairness::ReceivedShare) -> f64| told.entities.iter().map(of).sum::<f64>();
            prop_assert!(is_one_or_nothing(sum(|e| e.used_share), some_used));
            prop_assert!(is_one_or_nothing(sum(|e| e.entitled_share), some_active));
            prop_assert!((0.0..=1.0).contains(&told.misallocated_share));
            prop_assert!((0.0..=1.0).contains(&told.jains_index));
            prop_assert!(told.entities.iter().all(|e| e.ratio.is_finite() && e.error.is_finite()));
            prop_assert_eq!(told.entities.is_empty(), !some_active);
            let parents = if tier == 0 { 1 } else { tiers[tier - 1].len() };
            for parent in 0..parents {
                let is_child = |place: usize| tier == 0 || tiers[tier][place].0 == parent;
                let children = told.entities.iter().filter(|e| is_child(e.place));
                let parts: Vec<f64> = children.map(|e| e.entitled_share_of_parent).collect();
                // If no owner is entitled to anything, nothing is divided.
                let some = parts.iter().any(|part| *part > 0.0);
                prop_assert!(is_one_or_nothing(parts.iter().sum(), some), "{parts:?}");
            }
        }
        prop_assert!(close(tree.nominal()[0].of_group.iter().sum(), 1.0));
    }

    /// More weight never means a smaller share, and another user who becomes active never means a larger one.
    #[test]
    fn shares_are_monotone((tiers, uses) in scenes(), who in any::<prop::sample::Index>()) {
        let who = who.index(uses.len());
        let mut active: Vec<bool> = uses.iter().map(MemberUsage::is_active).collect();
        let before = tree(&tiers).entitled(&active);
        let mut heavier = tiers.clone();
        heavier[2][who].1 *= 2.0;
        let after = tree(&heavier).entitled(&active);
        prop_assert!(after[2].of_group[who] >= before[2].of_group[who] - CLOSE);
        let was_active = std::mem::replace(&mut active[who], true);
        let joined = tree(&tiers).entitled(&active);
        for place in (0..uses.len()).filter(|place| *place != who) {
            let sibling_or_stranger = joined[2].of_group[place] <= before[2].of_group[place] + CLOSE;
            prop_assert!(was_active || sibling_or_stranger, "{joined:?} {before:?}");
        }
    }

    /// No owner is entitled to less because another one asked for less.
    #[test]
    fn what_others_do_not_want_is_not_lost((tiers, mut uses) in scenes(), who in any::<prop::sample::Index>()) {
        let tiers = vec![tiers[2].iter().map(|(_, weight)| (0, *weight)).collect::<Vec<_>>()];
        let who = who.index(uses.len());
        for one in &mut uses {
            one.waits = true;
        }
        let before = report(&tree(&tiers), &uses).remove(0);
        uses[who].waits = uses[who].used == 0.0;
        let after = report(&tree(&tiers), &uses).remove(0);
        for (was, is) in before.entities.iter().zip(&after.entities).filter(|(was, _)| was.place != who) {
            prop_assert!(is.entitled_share >= was.entitled_share - CLOSE);
        }
    }
}
