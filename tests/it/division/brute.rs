//! The same divisions by other means on small trees: bisection, literal rounds, and one small part at a time.

use fairshared::domain::division::{DivisionOptions, QueueTree};
use fairshared::domain::queues::Bound;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::{Shape, cases, divide, leaves_demand, options, queues, slots, tree};

const SMALL: Shape = Shape { queues: 14, depth: 3, slots: 2 };

/// Finds x in 0.. with `level(x) = target`, `level` rising.
fn bisect(target: f64, level: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while level(high) < target && high < 1e15 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let mid = f64::midpoint(low, high);
        if level(mid) < target { low = mid } else { high = mid }
    }
    high
}

fn requestable(tree: &QueueTree, queue: usize, column: usize) -> f64 {
    tree.requestable(queue, column).to_f64()
}

fn quota_over_quota(tree: &QueueTree) -> Vec<Vec<f64>> {
    let mut shares = vec![vec![0.0; tree.slots.len()]; tree.len()];
    for level in tree.levels() {
        for column in 0..tree.slots.len() {
            let total = level.map_or(tree.capacity[column].to_f64(), |q| shares[q][column]);
            let quota = |q: usize| match tree.quota[(q, column)] {
                Bound::Limited(quota) => quota.to_f64(),
                Bound::Unlimited => total,
            };
            let by_quota = level.is_some_and(|q| {
                tree.queues[q].children_over_quota_by == fairshared::domain::queues::OverQuotaBy::Quota
            });
            let weight = |q: usize| if by_quota { quota(q) } else { tree.over_quota_weight[(q, column)].to_f64() };
            let mut left = total;
            for q in tree.children(level) {
                shares[*q][column] = quota(*q).min(requestable(tree, *q, column));
                left -= shares[*q][column];
            }
            let mut priorities: Vec<i32> = tree.children(level).iter().map(|q| tree.queues[*q].priority).collect();
            priorities.sort_unstable();
            priorities.dedup();
            for priority in priorities.into_iter().rev() {
                let group: Vec<usize> =
                    tree.children(level).iter().copied().filter(|q| tree.queues[*q].priority == priority).collect();
                let more = |q: usize, x: f64, shares: &[Vec<f64>]| {
                    (weight(q) * x).min(requestable(tree, q, column) - shares[q][column])
                };
                let all: f64 = group.iter().map(|q| more(*q, 1e12, &shares)).sum();
                let target = left.max(0.0).min(all);
                let x = if target <= 0.0 {
                    0.0
                } else {
                    bisect(target, |x| group.iter().map(|q| more(*q, x, &shares)).sum())
                };
                for q in group {
                    let gift = more(q, x, &shares);
                    shares[q][column] += gift;
                    left -= gift;
                }
            }
        }
    }
    shares
}

fn min_share(tree: &QueueTree, on_top: bool) -> Vec<f64> {
    let capacity: Vec<f64> = tree.capacity.iter().map(|c| c.to_f64()).collect();
    let ratio = |row: &[fairshared::domain::decimal::Amount], column: usize| {
        if capacity[column] > 0.0 { row[column].to_f64() / capacity[column] } else { 0.0 }
    };
    let upper = |q: usize| {
        let row = if tree.allocated.row(q).iter().enumerate().any(|(c, _)| ratio(tree.allocated.row(q), c) > 0.0) {
            tree.allocated.row(q)
        } else {
            tree.request.row(q)
        };
        let mut dominant = 0;
        for column in 0..capacity.len() {
            if ratio(row, column) > ratio(row, dominant) {
                dominant = column;
            }
        }
        let mut upper = ratio(tree.request.row(q), dominant);
        for (column, capacity) in capacity.iter().enumerate() {
            if let (Bound::Limited(limit), false) = (tree.limit[(q, column)], tree.request[(q, column)].is_zero())
                && *capacity > 0.0
            {
                upper = upper.min(limit.to_f64() / capacity);
            }
        }
        upper
    };
    let mut shares = vec![0.0; tree.len()];
    for level in tree.levels() {
        let total = level.map_or(1.0, |q| shares[q]);
        let children = tree.children(level);
        let lower_sum: f64 = children.iter().map(|q| tree.queues[*q].min_share_ratio.to_f64()).sum();
        let scale = if lower_sum > total { total / lower_sum } else { 1.0 };
        let share = |q: usize, x: f64| {
            let (weight, lower) = (tree.queues[q].weight.to_f64(), tree.queues[q].min_share_ratio.to_f64() * scale);
            upper(q).min(if on_top { lower + weight * x } else { lower.max(weight * x) })
        };
        let all: f64 = children.iter().map(|q| share(*q, 1e12)).sum();
        let target = total.min(all);
        let x = bisect(target, |x| children.iter().map(|q| share(*q, x)).sum());
        for q in children {
            shares[*q] = share(*q, x);
        }
    }
    shares
}

/// kube-batch's loop as written. `None`: a queue below the top is offered what it requests. There the last digit of its parent's
/// share decides whether it is met, and that digit is rounded.
fn proportion(tree: &QueueTree) -> Option<Vec<Vec<f64>>> {
    let mut deserved = vec![vec![0.0; tree.slots.len()]; tree.len()];
    let mut is_clear = true;
    for level in tree.levels() {
        let mut remaining: Vec<f64> =
            level.map_or_else(|| tree.capacity.iter().map(|c| c.to_f64()).collect(), |q| deserved[q].clone());
        let counts: Vec<usize> = (0..tree.slots.len())
            .filter(|c| remaining[*c] > 0.0 || tree.children(level).iter().any(|q| requestable(tree, *q, *c) > 0.0))
            .collect();
        let mut unmet: Vec<usize> =
            tree.children(level).iter().copied().filter(|q| !tree.queues[*q].weight.is_zero()).collect();
        for _ in 0..1_000 {
            if unmet.is_empty() || remaining.iter().all(|r| *r <= 1e-12) {
                break;
            }
            let weights: f64 = unmet.iter().map(|q| tree.queues[*q].weight.to_f64()).sum();
            let offered = remaining.clone();
            unmet.retain(|q| {
                let before = deserved[*q].clone();
                for (column, offered) in offered.iter().enumerate() {
                    deserved[*q][column] += offered * tree.queues[*q].weight.to_f64() / weights;
                }
                let spare = |c: &usize| deserved[*q][*c] - requestable(tree, *q, *c);
                is_clear &= level.is_none() || counts.iter().all(|c| deserved[*q][*c] <= 0.0 || spare(c).abs() > 1e-6);
                let met = counts.iter().all(|c| spare(c) > 1e-12);
                for column in 0..before.len() {
                    if met {
                        deserved[*q][column] = deserved[*q][column].min(requestable(tree, *q, column));
                    }
                    remaining[column] -= deserved[*q][column] - before[column];
                }
                !met
            });
        }
    }
    is_clear.then_some(deserved)
}

/// Gives one small part at a time to the queue that the rule selects at each node.
fn drf(tree: &QueueTree, pieces: f64) -> Vec<Vec<f64>> {
    let width = tree.slots.len();
    let mut held = vec![vec![0.0; width]; tree.len()];
    let mut total = vec![0.0; width];
    let capacity: Vec<f64> = tree.capacity.iter().map(|c| c.to_f64()).collect();
    let request = |q: usize, c: usize| tree.request[(q, c)].to_f64();
    let used = |total: &[f64], c: usize| total[c] >= capacity[c] - 1e-9;
    let limit = |q: usize, c: usize| tree.limit[(q, c)].unwrap_or(fairshared::domain::decimal::Amount::MAX).to_f64();
    loop {
        let mut can = vec![false; tree.len()];
        for q in tree.top_down().iter().rev() {
            can[*q] = if tree.is_leaf(*q) {
                let needs = |c: &usize| request(*q, *c) > 0.0;
                (0..width).any(|c| needs(&c))
                    && (0..width).filter(needs).all(|c| {
                        let free = tree.ancestry(*q).all(|a| held[a][c] < limit(a, c) - 1e-9);
                        held[*q][c] < request(*q, c) - 1e-9 && free && !used(&total, c)
                    })
            } else {
                tree.children(Some(*q)).iter().any(|c| can[*c])
            };
        }
        let mut at = None;
        while at.is_none_or(|q| !tree.is_leaf(q)) {
            let able = tree.children(at).iter().copied().filter(|q| can[*q]);
            let key = |q: usize| {
                let share = |c: usize| if used(&total, c) { 0.0 } else { held[q][c] / capacity[c] };
                let weight = tree.queues[q].weight.to_f64();
                let dominant = (0..width).map(share).fold(0.0, f64::max);
                (weight <= 0.0, if weight > 0.0 { dominant / weight } else { dominant })
            };
            let Some(next) = able.min_by(|a, b| key(*a).partial_cmp(&key(*b)).expect("no NaN")) else { return held };
            at = Some(next);
        }
        let leaf = at.expect("a leaf");
        let part = (0..width).map(|c| request(leaf, c) / capacity[c]).filter(|p| p.is_finite()).fold(0.0, f64::max);
        let mut step = pieces / part;
        for c in (0..width).filter(|c| request(leaf, *c) > 0.0) {
            step = step.min((capacity[c] - total[c]) / request(leaf, c));
            for q in tree.ancestry(leaf) {
                step = step.min((limit(q, c) - held[q][c]) / request(leaf, c));
            }
            step = step.min((request(leaf, c) - held[leaf][c]) / request(leaf, c));
        }
        for c in 0..width {
            let more = step * request(leaf, c);
            total[c] += more;
            tree.ancestry(leaf).for_each(|q| held[q][c] += more);
        }
    }
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + a.abs())
}

fn check(
    tree: &QueueTree,
    name: &str,
    opts: Value,
    expected: &[Vec<f64>],
    tolerance: f64,
) -> Result<(), TestCaseError> {
    let shares = divide(tree, name, &options(opts)).fair_share;
    for queue in 0..tree.len() {
        for column in 0..tree.slots.len() {
            let (ours, theirs) = (shares[(queue, column)].to_f64(), expected[queue][column]);
            prop_assert!(close(ours, theirs, tolerance), "{name} {} {column}: {ours} {theirs}", tree.name(queue));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn divisions_agree_with_brute_force(mut queues in queues(SMALL), total in 0u32..120) {
        leaves_demand(&mut queues);
        let tree = tree(Value::Array(queues), slots(SMALL.slots, total));
        check(&tree, "quota_over_quota", json!({}), &quota_over_quota(&tree), 1e-6)?;
        if let Some(shares) = proportion(&tree) {
            check(&tree, "proportion", json!({}), &shares, 1e-6)?;
        }
        for (rule, on_top) in [("floor", false), ("on_top", true)] {
            let ratios = divide(&tree, "min_share", &options(json!({"rule": rule}))).ratios.expect("ratios");
            for (queue, theirs) in min_share(&tree, on_top).into_iter().enumerate() {
                let ours = ratios[queue].fair_share.to_f64();
                prop_assert!(close(ours, theirs, 1e-6), "{rule} {}: {ours} {theirs}", tree.name(queue));
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn filling_agrees_with_small_pieces(mut queues in queues(SMALL), total in 5u32..60) {
        leaves_demand(&mut queues);
        let tree = tree(Value::Array(queues), slots(SMALL.slots, total));
        let shares = divide(&tree, "drf", &DivisionOptions::default()).fair_share;
        let pieces = drf(&tree, 5e-4);
        for queue in 0..tree.len() {
            for column in 0..tree.slots.len() {
                let (ours, theirs) = (shares[(queue, column)].to_f64(), pieces[queue][column]);
                let off = (ours - theirs).abs() / tree.capacity[column].to_f64().max(1.0);
                prop_assert!(off < 0.02, "{} {column}: {ours} {theirs}", tree.name(queue));
            }
        }
    }
}
