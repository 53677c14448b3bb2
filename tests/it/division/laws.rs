//! Laws of the division on random trees.

use fairshared::domain::decimal::Amount;
use fairshared::domain::division::algorithms::Rounding;
use fairshared::domain::division::{DivisionOptions, DivisionResult, QueueSlotGrid, QueueTree, algorithm_names};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::{Shape, cases, divide, leaves_demand, options, queues, slots, tree};

const SMALL: Shape = Shape { queues: 24, depth: 4, slots: 2 };
const LARGE: Shape = Shape { queues: 2_000, depth: 6, slots: 5 };

fn all_options() -> [Value; 6] {
    [
        json!({}),
        json!({"rounding": "whole"}),
        json!({"rounding": "kai"}),
        json!({"rule": "on_top"}),
        json!({"proportion_variant": "volcano"}),
        json!({"history_gain": "0.5", "history_base": "siblings", "over_quota_by": "quota"}),
    ]
}

fn units(amounts: impl Iterator<Item = Amount>) -> u128 {
    amounts.map(Amount::units).sum()
}

/// Children never get more than their parent has, but for quotas that are over-committed; at the roots, shares and
/// remainder are the capacity.
fn check_conservation(tree: &QueueTree, shares: &DivisionResult, exact: bool) -> Result<(), TestCaseError> {
    let share = &shares.fair_share;
    for level in tree.levels() {
        for column in 0..tree.slots.len() {
            let total = level.map_or(tree.capacity[column], |q| share[(q, column)]).units();
            let children = tree.children(level).iter();
            let sum = units(children.clone().map(|q| share[(*q, column)]));
            let quotas = units(children.map(|q| {
                let requestable = tree.requestable(*q, column);
                tree.quota[(*q, column)].unwrap_or(Amount::from_units(total)).min(requestable)
            }));
            if !exact || (quotas > total && sum > total) {
                continue;
            }
            prop_assert!(sum <= total, "{level:?} {column}: {sum} of {total}");
            if level.is_none() {
                prop_assert_eq!(sum + shares.remaining[column].units(), total);
            }
        }
    }
    Ok(())
}

fn check_ceilings(tree: &QueueTree, shares: &QueueSlotGrid<Amount>) -> Result<(), TestCaseError> {
    for queue in 0..tree.len() {
        for column in 0..tree.slots.len() {
            prop_assert!(shares[(queue, column)] <= tree.requestable(queue, column), "{} {column}", tree.name(queue));
        }
    }
    Ok(())
}

/// Nothing is left over at a level while a member with a weight asks for it and may have it.
fn check_nothing_idle(tree: &QueueTree, shares: &QueueSlotGrid<Amount>, unit: u128) -> Result<(), TestCaseError> {
    for level in tree.levels() {
        for column in 0..tree.slots.len() {
            let total = level.map_or(tree.capacity[column], |q| shares[(q, column)]).units();
            let left = total.saturating_sub(units(tree.children(level).iter().map(|q| shares[(*q, column)])));
            let hungry = tree.children(level).iter().any(|q| {
                let more = tree.requestable(*q, column).saturating_sub(shares[(*q, column)]).units();
                let by_quota = match level {
                    Some(parent) => tree.queues[parent].children_over_quota_by,
                    None => fairshared::domain::queues::OverQuotaBy::Weight,
                } == fairshared::domain::queues::OverQuotaBy::Quota;
                !by_quota
                    && !tree.over_quota_weight[(*q, column)].is_zero()
                    && more.min(unit) > 0
                    && more.min(unit) <= left
            });
            prop_assert!(!hungry, "{level:?} {column}: {left} left");
        }
    }
    Ok(())
}

/// The laws of one division whose leaves carry the demand, with default options.
pub fn check_division(tree: &QueueTree, name: &str, options: &DivisionOptions) -> Result<(), TestCaseError> {
    let shares = divide(tree, name, options);
    check_conservation(tree, &shares, true)?;
    match name {
        "quota_over_quota" => {
            check_ceilings(tree, &shares.fair_share)?;
            check_nothing_idle(tree, &shares.fair_share, 1)
        }
        "drf" => {
            check_ceilings(tree, &shares.fair_share)?;
            check_filled(tree, &shares.fair_share)
        }
        _ if tree.slots.len() == 1 => {
            check_ceilings(tree, &shares.fair_share)?;
            check_nothing_idle_by_weight(tree, &shares.fair_share)
        }
        _ => Ok(()),
    }
}

/// Smaller differences come from the rounding of floats and last digits.
const DUST: u128 = 1_000_000;

/// On one slot: nothing is left over at a level while a member with a weight asks for it.
fn check_nothing_idle_by_weight(tree: &QueueTree, shares: &QueueSlotGrid<Amount>) -> Result<(), TestCaseError> {
    for level in tree.levels() {
        let total = level.map_or(tree.capacity[0], |q| shares[(q, 0)]).units();
        let left = total.saturating_sub(units(tree.children(level).iter().map(|q| shares[(*q, 0)])));
        let hungry = tree.children(level).iter().any(|q| {
            !tree.queues[*q].weight.is_zero() && shares[(*q, 0)].units() + DUST < tree.requestable(*q, 0).units()
        });
        prop_assert!(!hungry || left <= DUST, "{level:?}: {left} left");
    }
    Ok(())
}

/// `drf`: a queue that lacks something needs a slot that is used up, or is below a limit that is reached.
fn check_filled(tree: &QueueTree, shares: &QueueSlotGrid<Amount>) -> Result<(), TestCaseError> {
    let used_up = |column: usize| {
        let given = units(tree.children(None).iter().map(|q| shares[(*q, column)]));
        given + DUST >= tree.capacity[column].units()
    };
    let stopped = |leaf: usize, column: usize| {
        used_up(column)
            || tree.ancestry(leaf).any(|q| {
                let limit = tree.limit[(q, column)].unwrap_or(Amount::MAX);
                shares[(q, column)].units() + DUST >= limit.units()
            })
    };
    for leaf in (0..tree.len()).filter(|q| tree.is_leaf(*q)) {
        let mut wanted = (0..tree.slots.len()).filter(|c| !tree.request[(leaf, *c)].is_zero());
        let lacks = wanted.clone().any(|c| shares[(leaf, c)].units() + DUST < tree.request[(leaf, c)].units());
        prop_assert!(!lacks || wanted.any(|c| stopped(leaf, c)), "{} could grow on", tree.name(leaf));
    }
    Ok(())
}

/// A queue that deserves all that it may have has it to the last digit, and rounding moves nothing else.
fn check_last_digits(tree: &QueueTree, name: &str, opts: &Value) -> Result<(), TestCaseError> {
    let shares = divide(tree, name, &options(opts.clone()));
    check_conservation(tree, &shares, true)?;
    for level in tree.levels() {
        for column in 0..tree.slots.len() {
            let sum = units(tree.children(level).iter().map(|q| shares.fair_share[(*q, column)]));
            if let (Some(queue), "drf") = (level, name) {
                prop_assert_eq!(sum, shares.fair_share[(queue, column)].units());
            }
        }
    }
    for leaf in (0..tree.len()).filter(|q| tree.is_leaf(*q)) {
        for column in 0..tree.slots.len() {
            let share = shares.fair_share[(leaf, column)];
            let lacks = tree.requestable(leaf, column).saturating_sub(share).units();
            prop_assert!(lacks == 0 || lacks >= 1_000, "{name} {opts} {} {column}: {share}", tree.name(leaf));
        }
    }
    Ok(())
}

fn shuffled(queues: &[Value], seed: u64) -> Vec<Value> {
    let mut keyed: Vec<(u64, &Value)> =
        queues.iter().enumerate().map(|(at, q)| ((at as u64 + 1).wrapping_mul(seed | 1).rotate_left(17), q)).collect();
    keyed.sort_by_key(|(key, _)| *key);
    keyed.into_iter().map(|(_, q)| q.clone()).collect()
}

fn check_all(queues: &[Value], slot_count: usize, total: u32, seed: u64) -> Result<(), TestCaseError> {
    let capacity = slots(slot_count, total);
    let original = tree(Value::Array(queues.to_vec()), capacity.clone());
    let permuted = tree(Value::Array(shuffled(queues, seed)), capacity);
    for opts in all_options() {
        let opts: DivisionOptions = options(opts);
        for name in algorithm_names() {
            let shares = divide(&original, name, &opts);
            let kai = name == "quota_over_quota" && opts.quota_over_quota.rounding == Rounding::Kai;
            check_conservation(&original, &shares, !kai)?;
            if (name == "quota_over_quota" && !kai) || name == "drf" {
                check_ceilings(&original, &shares.fair_share)?;
            }
            let others = divide(&permuted, name, &opts);
            for queue in 0..original.len() {
                let other = permuted.find(original.name(queue)).expect("the same queue");
                let rows = (shares.fair_share.row(queue), others.fair_share.row(other));
                if name == "drf" {
                    // Floats are added in the order of the input; their last digits may differ.
                    let far = rows.0.iter().zip(rows.1).any(|(a, b)| a.units().abs_diff(b.units()) > 1_000);
                    prop_assert!(!far, "{name} {}: {rows:?}", original.name(queue));
                } else {
                    prop_assert_eq!(rows.0, rows.1, "{} {}", name, original.name(queue));
                }
            }
        }
    }
    for (rounding, unit) in [("exact", 1), ("whole", Amount::whole(1).units())] {
        let shares = divide(&original, "quota_over_quota", &options(json!({"rounding": rounding})));
        check_nothing_idle(&original, &shares.fair_share, unit)?;
    }
    check_filled(&original, &divide(&original, "drf", &DivisionOptions::default()).fair_share)
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn on_small_trees(mut queues in queues(SMALL), total in 0u32..200, seed: u64) {
        leaves_demand(&mut queues);
        check_all(&queues, SMALL.slots, total, seed)?;
    }

    /// With one slot a ratio is an amount, and deserved shares are capped one by one.
    #[test]
    fn on_one_slot(mut queues in queues(Shape { slots: 1, ..SMALL }), total in 0u32..200) {
        leaves_demand(&mut queues);
        let tree = tree(Value::Array(queues), slots(1, total));
        for (name, opts) in [
            ("min_share", json!({})), ("min_share", json!({"rule": "on_top"})),
            ("proportion", json!({})), ("proportion", json!({"proportion_variant": "volcano"})),
        ] {
            check_division(&tree, name, &options(opts))?;
        }
    }

    #[test]
    fn more_weight_is_never_less_on_one_slot(
        mut queues in queues(Shape { queues: 12, depth: 1, slots: 1 }), total in 0u32..200, chosen: prop::sample::Index,
    ) {
        let at = chosen.index(queues.len());
        let before = tree(Value::Array(queues.clone()), slots(1, total));
        queues[at]["weight"] = json!(7);
        let after = tree(Value::Array(queues), slots(1, total));
        for name in ["min_share", "proportion", "drf"] {
            let share = |tree: &QueueTree| divide(tree, name, &DivisionOptions::default()).fair_share[(at, 0)].units();
            prop_assert!(share(&after) + 1_000 >= share(&before), "{name}");
        }
    }

    #[test]
    fn more_weight_or_quota_is_never_less(
        mut queues in queues(SMALL), total in 0u32..200, chosen: prop::sample::Index, change in 0..5usize,
    ) {
        leaves_demand(&mut queues);
        let at = chosen.index(queues.len());
        let before = tree(Value::Array(queues.clone()), slots(SMALL.slots, total));
        let queue = &mut queues[at];
        match change {
            0 => queue["over_quota_weight"] = json!(5),
            1 => queue["weight"] = json!(9),
            2 => queue["min_share_ratio"] = json!("0.9"),
            // "unlimited" counts as the total of the level, which may be less than a quota above it.
            3 => ["slot0", "slot1"].iter().for_each(|slot| {
                if let Some(quota) = queue["quota"][slot].as_u64() {
                    queue["quota"][slot] = json!(quota + 5);
                }
            }),
            _ => queue["priority"] = json!(7),
        }
        let after = tree(Value::Array(queues), slots(SMALL.slots, total));
        // A weight that another algorithm reads, or a quota that is divided by, is no business of this law.
        for (name, changes) in [("quota_over_quota", &[0, 3, 4][..]), ("min_share", &[1, 2, 4]), ("drf", &[4])] {
            if !changes.contains(&change) || (change == 2 && before.queues[at].parent.is_some()) {
                continue;
            }
            let (old, new) = (divide(&before, name, &DivisionOptions::default()), divide(&after, name, &DivisionOptions::default()));
            for column in 0..before.slots.len() {
                let (old, new) = (old.fair_share[(at, column)], new.fair_share[(at, column)]);
                // A last digit may move to a rival.
                prop_assert!(new.units() + 1_000 >= old.units(), "{name} {change}: {old} -> {new}");
            }
        }
    }

    #[test]
    fn a_rivals_smaller_demand_never_costs(
        mut queues in queues(Shape { queues: 12, depth: 1, slots: 1 }), total in 0u32..200, chosen: prop::sample::Index,
    ) {
        let at = chosen.index(queues.len());
        let before = tree(Value::Array(queues.clone()), slots(1, total));
        queues[at]["request"] = queues[at]["allocated"].clone();
        let after = tree(Value::Array(queues), slots(1, total));
        for name in ["quota_over_quota", "min_share", "proportion", "drf"] {
            let (old, new) = (divide(&before, name, &DivisionOptions::default()), divide(&after, name, &DivisionOptions::default()));
            for queue in (0..before.len()).filter(|q| *q != at) {
                let (old, new) = (old.fair_share[(queue, 0)], new.fair_share[(queue, 0)]);
                prop_assert!(new.units() + 1_000 >= old.units(), "{name}: {old} -> {new}");
            }
        }
    }
}

const DEEP: Shape = Shape { queues: 200, depth: 6, slots: 1 };

proptest! {
    #![proptest_config(cases(60))]

    /// The same in trees: a queue that is not above the queue whose demand falls does not lose.
    #[test]
    fn a_smaller_demand_costs_nobody_in_a_tree(
        mut queues in queues(DEEP), total in 0u32..2_000, chosen: prop::sample::Index,
    ) {
        leaves_demand(&mut queues);
        let at = chosen.index(queues.len());
        let before = tree(Value::Array(queues.clone()), slots(1, total));
        queues[at]["request"] = queues[at]["allocated"].clone();
        let after = tree(Value::Array(queues), slots(1, total));
        // Minimum shares that exceed what a parent gets are scaled to it, and a parent gets no more than all below ask for:
        // in trees this is no law of `min_share`.
        for name in ["quota_over_quota", "proportion", "drf"] {
            let (old, new) = (divide(&before, name, &DivisionOptions::default()), divide(&after, name, &DivisionOptions::default()));
            for queue in (0..before.len()).filter(|q| before.ancestry(at).all(|above| above != *q)) {
                let (old, new) = (old.fair_share[(queue, 0)], new.fair_share[(queue, 0)]);
                prop_assert!(new.units() + DUST >= old.units(), "{name} {}: {old} -> {new}", before.name(queue));
            }
        }
    }

    #[test]
    fn more_weight_is_never_less_in_a_tree(
        mut queues in queues(DEEP), total in 0u32..2_000, chosen: prop::sample::Index,
    ) {
        leaves_demand(&mut queues);
        let at = chosen.index(queues.len());
        let before = tree(Value::Array(queues.clone()), slots(1, total));
        queues[at]["weight"] = json!(9);
        let after = tree(Value::Array(queues), slots(1, total));
        for name in ["min_share", "proportion", "drf"] {
            let share = |tree: &QueueTree| divide(tree, name, &DivisionOptions::default()).fair_share[(at, 0)].units();
            prop_assert!(share(&after) + DUST >= share(&before), "{name}");
        }
    }
}

proptest! {
    #![proptest_config(cases(6))]

    #[test]
    fn on_large_trees(mut queues in queues(LARGE), total in 0u32..20_000, seed: u64) {
        leaves_demand(&mut queues);
        check_all(&queues, LARGE.slots, total, seed)?;
    }
}

/// Whole figures, so that shares meet requests exactly; some queues have a guarantee.
fn whole(mut queues: Vec<Value>, guaranteed: bool) -> Vec<Value> {
    for (at, queue) in queues.iter_mut().enumerate() {
        for slot in ["slot0", "slot1"] {
            if let Some(request) = queue["request"][slot].as_str() {
                queue["request"][slot] = json!(request.split('.').next());
            }
            if guaranteed && at % 3 == 0 {
                queue["guarantee"][slot] = json!(at % 5);
            }
        }
    }
    queues
}

const LAST_DIGITS: [(&str, Option<&str>); 2] = [("drf", None), ("proportion", Some("volcano"))];

fn check_last_digits_of_all(tree: &QueueTree) -> Result<(), TestCaseError> {
    for (name, variant) in LAST_DIGITS {
        let opts = variant.map_or(json!({}), |v| json!({"proportion_variant": v}));
        check_last_digits(tree, name, &opts)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn nobody_lacks_just_the_last_digits(
        mut queues in queues(Shape { queues: 12, depth: 3, slots: 2 }), total in 1u32..120, guaranteed: bool,
    ) {
        leaves_demand(&mut queues);
        check_last_digits_of_all(&tree(Value::Array(queues.clone()), slots(2, total)))?;
        check_last_digits_of_all(&tree(Value::Array(whole(queues, guaranteed)), slots(2, total)))?;
    }
}

proptest! {
    #![proptest_config(cases(6))]

    #[test]
    fn nobody_lacks_just_the_last_digits_in_large_trees(mut queues in queues(LARGE), total in 0u32..20_000) {
        leaves_demand(&mut queues);
        check_last_digits_of_all(&tree(Value::Array(queues), slots(LARGE.slots, total)))?;
    }
}
