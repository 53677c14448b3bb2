//! A trace can be followed by hand: its steps and sentences add up to the shares.

use fairshared::domain::decimal::Amount;
use fairshared::domain::division::report::explanation::QueueExplanation;
use fairshared::domain::division::trace::DivisionStep;
use fairshared::domain::division::{
    DivisionOptions, DivisionResult, DivisionTrace, QueueTree, algorithm, algorithm_names,
};
use fairshared::domain::queues::Bound;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::report::sentences;
use super::support::{Shape, cases, leaves_demand, options, queues, slots, tree};

fn told(algorithm: &str, options: Value, capacity: Value, queues: Value) -> Vec<String> {
    let mut request = json!({"algorithm": algorithm, "explain": true});
    for (key, value) in [("options", options), ("capacity", capacity), ("queues", queues)] {
        request[key] = value;
    }
    sentences(request)
}

#[test]
fn a_minimum_share_on_top_is_a_step_of_its_own() {
    let queues = json!([
        {"name": "A", "min_share_ratio": "0.5", "request": {"cpu": 100}},
        {"name": "B", "weight": 2, "request": {"cpu": 20}},
        {"name": "C", "request": {"cpu": 100}},
    ]);
    assert_eq!(
        told("min_share", json!({"rule": "on_top"}), json!({"cpu": 100}), queues),
        [
            "A is to have 0.5 of the whole (its minimum share) + 0.15 of the whole (1/2 of 0.3 by weight); gets 65 of 100 cpu",
            "B is to have 0.2 of the whole (all it asks for); gets 20 of 100 cpu",
            "C is to have 0.15 of the whole (1/2 of 0.3 by weight); gets 15 of 100 cpu",
        ]
    );
}

#[test]
fn bounds_of_a_ratio_are_called_by_their_names() {
    let queues = json!([
        {"name": "A", "weight": 3, "request": {"cpu": 1000}},
        {"name": "B", "request": {"cpu": 100}, "limit": {"cpu": 25}},
        {"name": "none", "weight": 0, "request": {"cpu": 5}},
        {"name": "A1", "parent": "A", "request": {"cpu": 90}},
        {"name": "shut", "request": {"cpu": 9}, "limit": {"cpu": 0}},
        {"name": "idle"},
    ]);
    assert_eq!(
        told("min_share", json!({}), json!({"cpu": 100}), queues),
        [
            "A is to have 0.75 of the whole (3/4 of 1 by weight); gets 75 of 100 cpu",
            "B is to have 0.25 of the whole (cut by its limit on cpu); gets 25 of 100 cpu",
            "none is to have 0 of the whole (its weight is 0); gets 0 of 100 cpu",
            "A1 is to have 0.75 of the whole (all of its parent's share); gets 75 of A's 75 cpu",
            "shut is to have 0 of the whole (cut by its limit on cpu); gets 0 of 100 cpu",
            "idle is to have 0 of the whole (all it asks for)",
        ]
    );
    // Minimum shares above what there is, a weight of 0, and more asked for than exists.
    let queues = json!([
        {"name": "A", "min_share_ratio": "0.9", "weight": 0, "request": {"cpu": 100}},
        {"name": "B", "min_share_ratio": "0.9", "request": {"cpu": 100}},
    ]);
    assert_eq!(
        told("min_share", json!({}), json!({"cpu": 100}), queues),
        [
            "A is to have 0.5 of the whole (its minimum share, cut to 0.9/1.8 of 1, as its weight is 0); gets 50 of 100 cpu",
            "B is to have 0.5 of the whole (its minimum share, cut to 0.9/1.8 of 1); gets 50 of 100 cpu",
        ]
    );
    let alone = json!([{"name": "A", "request": {"cpu": 101}}]);
    assert_eq!(
        told("min_share", json!({}), json!({"cpu": 100}), alone),
        ["A is to have 1 of the whole (all there is); gets 100 of 100 cpu"]
    );
    // The slot with the largest used part decides, even if more of another slot is requested.
    let used = json!([{"name": "A", "request": {"cpu": 30, "gpu": 9}, "allocated": {"cpu": 20}}]);
    assert_eq!(
        told("min_share", json!({}), json!({"cpu": 100, "gpu": 10}), used),
        ["A is to have 0.3 of the whole (all the cpu it asks for); gets 30 of 100 cpu; gets 3 of 10 gpu"]
    );
    let line = json!([
        {"name": "line", "mode": "fifo"},
        {"name": "a", "parent": "line", "request": {"cpu": 60}},
        {"name": "b", "parent": "line", "request": {"cpu": 70}, "limit": {"cpu": 30}},
        {"name": "c", "parent": "line", "request": {"cpu": 70}},
    ]);
    assert_eq!(
        told("min_share", json!({}), json!({"cpu": 100}), line)[1..],
        [
            "a is to have 0.6 of the whole (its turn: all it asks for); gets 60 of line's 100 cpu",
            "b is to have 0.3 of the whole (its turn: cut by its limit on cpu); gets 30 of line's 100 cpu",
            "c is to have 0.1 of the whole (its turn: what was left); gets 10 of line's 100 cpu",
        ]
    );
}

#[test]
fn kais_floors_and_caps_are_told() {
    let queue = |name: &str, wants: u32| json!({"name": name, "quota": {"gpu": 64}, "request": {"gpu": wants}});
    let three = json!([queue("a", 99), queue("b", 99), queue("c", 99)]);
    assert_eq!(
        told("quota_over_quota", json!({"rounding": "kai"}), json!({"gpu": 208}), three),
        [
            "a gets 70 of 208 gpu: 64 quota + 5 (1/3 of the 16 unused, in whole units) + 1 remainder",
            "b gets 69 of 208 gpu: 64 quota + 5 (1/3 of the 16 unused, in whole units)",
            "c gets 69 of 208 gpu: 64 quota + 5 (1/3 of the 16 unused, in whole units)",
        ]
    );
    let two = json!([
        {"name": "a", "request": {"gpu": 1}},
        {"name": "b", "request": {"gpu": 30}, "limit": {"gpu": 2}},
        {"name": "c", "request": {"gpu": 30}},
    ]);
    assert_eq!(
        told("quota_over_quota", json!({"rounding": "kai"}), json!({"gpu": 12}), two),
        [
            "a gets 1 of 12 gpu: 1 (1/3 of the 12 unused, capped by its request)",
            "b gets 2 of 12 gpu: 2 (1/3 of the 12 unused, capped by its limit)",
            "c gets 9 of 12 gpu: 1/3 of the 12 unused + 1/1 of the 5 unused",
        ]
    );
}

#[test]
fn whole_devices_are_cut_after_the_rounds() {
    let queues = json!([
        {"name": "a", "request": {"gpu": 1}},
        {"name": "b", "request": {"gpu": 5}},
        {"name": "c", "request": {"gpu": 2}},
    ]);
    assert_eq!(
        told("quota_over_quota", json!({"rounding": "whole"}), json!({"gpu": 8}), queues)[1],
        "b gets 5 of 8 gpu: 1/3 of the 8 unused + 1/1 of the 2.333333333334 unused"
    );
    let queues = json!([
        {"name": "a", "over_quota_weight": 2, "quota": {"gpu": 10}, "request": {"gpu": 36}},
        {"name": "b", "over_quota_weight": 3, "quota": {"gpu": 6}, "request": {"gpu": 36}},
        {"name": "c", "request": {"gpu": 36}},
    ]);
    assert_eq!(
        told("quota_over_quota", json!({"rounding": "whole"}), json!({"gpu": 36}), queues),
        [
            "a gets 17 of 36 gpu: 10 quota + 2/6 of the 20 unused - 0.666666666666 cut to whole devices + 1 remainder",
            "b gets 16 of 36 gpu: 6 quota + 3/6 of the 20 unused",
            "c gets 3 of 36 gpu: 1/6 of the 20 unused - 0.333333333333 cut to whole devices",
        ]
    );
}

#[test]
fn deserved_shares_say_what_cut_them() {
    let queues = json!([
        {"name": "a", "request": {"gpu": 4}, "limit": {"gpu": 2}},
        {"name": "b", "request": {"gpu": 1}},
        {"name": "c", "request": {"gpu": 20}},
    ]);
    assert_eq!(
        told("proportion", json!({}), json!({"gpu": 12}), queues.clone()),
        [
            "a gets 2 of 12 gpu: 2 up to its limit",
            "b gets 1 of 12 gpu: 1 as requested",
            "c gets 9 of 12 gpu: 1/1 of the 9 left",
        ]
    );
    let volcano = json!({"proportion_variant": "volcano"});
    let told_by_volcano = told("proportion", volcano.clone(), json!({"gpu": 12}), queues);
    assert_eq!(told_by_volcano[0], "a gets 2 of 12 gpu: 2 (1/3 of the 12 left, capped by its limit)");
    assert_eq!(told_by_volcano[1], "b gets 1 of 12 gpu: 1 (1/3 of the 12 left, capped by its request)");
    let queues = json!([
        {"name": "a", "guarantee": {"gpu": 9}, "request": {"gpu": 4}},
        {"name": "b", "request": {"gpu": 20}},
    ]);
    assert_eq!(
        told("proportion", volcano, json!({"gpu": 12}), queues),
        [
            "a gets 9 of 12 gpu: 9 guarantee",
            "b gets 3 of 12 gpu: 3 (1/2 of the 12 left, capped by the guarantees of others)",
        ]
    );
}

const UNIT: f64 = 1e12;

fn all_options() -> [Value; 9] {
    [
        json!({}),
        json!({"rounding": "whole"}),
        json!({"rounding": "whole", "history_gain": "0.7", "over_quota_by": "quota"}),
        json!({"rounding": "whole", "whole_slots": ["slot1"], "history_gain": "2"}),
        json!({"rounding": "kai"}),
        json!({"rounding": "kai", "history_gain": "0.7", "history_base": "siblings"}),
        json!({"rule": "on_top"}),
        json!({"proportion_variant": "volcano"}),
        json!({"history_gain": "0.5", "history_base": "siblings", "over_quota_by": "quota"}),
    ]
}

struct Case<'a> {
    tree: &'a QueueTree,
    name: &'a str,
    options: &'a DivisionOptions,
    shares: &'a DivisionResult,
}

impl Case<'_> {
    fn total(&self, queue: usize, column: usize) -> Amount {
        let parent = self.tree.queues[queue].parent;
        parent.map_or(self.tree.capacity[column], |parent| self.shares.fair_share[(parent, column)])
    }

    /// Floats are printed with fewer digits than decimals.
    fn has_floats(&self) -> bool {
        self.name == "drf" || self.options.reads_usage()
    }

    fn check_steps(&self, queue: usize, steps: &[DivisionStep]) -> Result<(), TestCaseError> {
        let sum = |column: Option<usize>| -> i128 {
            steps.iter().filter(|s| s.column == column).map(|s| s.gift.units()).sum()
        };
        let units = |amount: Amount| i128::try_from(amount.units()).unwrap();
        match &self.shares.ratios {
            Some(ratios) => prop_assert_eq!(sum(None), units(ratios[queue].fair_share)),
            None => {
                for column in 0..self.tree.slots.len() {
                    prop_assert_eq!(sum(Some(column)), units(self.shares.fair_share[(queue, column)]));
                }
            }
        }
        for step in steps {
            if let Some(offer) = step.offer {
                prop_assert!(step.gift.units() <= units(offer), "{step:?}");
                let told = step.divided.unwrap().to_f64() * part(step);
                let most = if self.has_floats() { 1e-8 * told.max(1.0) } else { 2.0 / UNIT + 1e-15 * told };
                prop_assert!((offer.to_f64() - told).abs() <= most, "{step:?}");
            }
            match step.column {
                Some(column) => self.check_cap(queue, column, step)?,
                None => self.check_ratio(queue, step)?,
            }
        }
        Ok(())
    }

    /// A queue that is cut by its request has all of it, and the same holds for the limit.
    fn check_cap(&self, queue: usize, column: usize, step: &DivisionStep) -> Result<(), TestCaseError> {
        let (tree, share) = (self.tree, |column: usize| self.shares.fair_share[(queue, column)].units());
        let is = |column: usize, amount: Amount| {
            // `drf` is solved in floats.
            share(column).abs_diff(amount.units()) <= if self.name == "drf" { 1_000_000 } else { 0 }
        };
        let limit = |column: usize| tree.limit[(queue, column)].unwrap_or(Amount::MAX);
        let cap = step.capped_by.as_deref().unwrap_or(if step.rule == "request" { "request" } else { "" });
        match cap {
            "request" => prop_assert!(is(column, tree.request[(queue, column)]), "{step:?} {}", share(column)),
            "limit" => prop_assert!(is(column, limit(column)), "{step:?} {}", share(column)),
            cap => {
                if let Some(slot) = cap.strip_prefix("limit on ") {
                    let column = tree.slots.iter().position(|s| s.as_str() == slot).unwrap();
                    prop_assert!(is(column, limit(column)), "{step:?} {}", share(column));
                }
            }
        }
        Ok(())
    }

    fn check_ratio(&self, queue: usize, step: &DivisionStep) -> Result<(), TestCaseError> {
        let (tree, ratios) = (self.tree, self.shares.ratios.as_ref().unwrap());
        let (gift, settings) = (step.gift.units() as f64 / UNIT, &tree.queues[queue]);
        let is = |expected: f64| (gift - expected).abs() <= 2.0 / UNIT;
        let cap = step.capped_by.as_deref().unwrap_or_default();
        let told = step.weight.and(step.divided).map(|divided| divided.to_f64() * part(step));
        let holds = match (step.rule, cap) {
            ("by_weight", "") => is(told.unwrap()),
            ("min_share", "" | "weight 0") => {
                (cap.is_empty() || settings.weight.is_zero()) && is(told.unwrap_or(settings.min_share_ratio.to_f64()))
            }
            ("fifo", "") => is(step.divided.unwrap().to_f64()),
            ("demand", "") | ("fifo", "request") => is(ratios[queue].demand.to_f64()),
            ("parent", "parent's share") => is(ratios[settings.parent.unwrap()].fair_share.to_f64()),
            ("capacity" | "fifo", "capacity") => is(1.0),
            ("demand" | "limit" | "fifo", cap) => match cap.split_once(' ').unwrap() {
                ("request", _) => is(ratios[queue].demand.to_f64()),
                (_, slot) => {
                    let slot = slot.trim_start_matches("on ");
                    let column = tree.slots.iter().position(|s| s.as_str() == slot).unwrap();
                    let Bound::Limited(limit) = tree.limit[(queue, column)] else { return Err(fail(step)) };
                    is(limit.to_f64() / tree.capacity[column].to_f64())
                }
            },
            _ => false,
        };
        if holds { Ok(()) } else { Err(fail(step)) }
    }

    fn check_sentence(&self, queue: usize, sentence: &str) -> Result<(), TestCaseError> {
        let is_idle = (0..self.tree.slots.len()).all(|c| self.tree.request[(queue, c)].is_zero());
        prop_assert!(is_idle || !sentence.starts_with("wants nothing"), "{sentence}");
        for clause in sentence.split("; ").filter(|clause| *clause != "wants nothing and gets nothing") {
            if let Some(ratio) = clause.strip_prefix("is to have ") {
                let sum: u128 = ratio.split(" + ").map(|term| number(term).units()).sum();
                let expected = self.shares.ratios.as_ref().unwrap()[queue].fair_share.units();
                prop_assert_eq!(sum, expected, "{}", sentence);
                continue;
            }
            let (head, sum) = clause.split_once(": ").unwrap_or((clause, ""));
            let (gets, of) = head.strip_prefix("gets ").unwrap().split_once(" of ").unwrap();
            let (whole, slot) = of.rsplit_once(' ').unwrap();
            let column = self.tree.slots.iter().position(|s| s.as_str() == slot).unwrap();
            let share = self.shares.fair_share[(queue, column)];
            prop_assert_eq!(number(gets), share);
            prop_assert_eq!(number(whole.rsplit(' ').next().unwrap()), self.total(queue, column));
            if self.shares.ratios.is_none() {
                let (sum, fractions) = total(sum);
                let far = (sum - share.to_f64()).abs();
                prop_assert!(far <= fractions * 1.01 / UNIT + 1e-15 * sum, "{sentence}");
            }
        }
        Ok(())
    }
}

fn fail(step: &DivisionStep) -> TestCaseError {
    TestCaseError::fail(format!("{step:?}"))
}

fn part(step: &DivisionStep) -> f64 {
    let (weight, sum) = (step.weight.unwrap().to_f64(), step.weight_sum.unwrap().to_f64());
    if sum > 0.0 { weight / sum } else { 0.0 }
}

/// The first word.
fn number(text: &str) -> Amount {
    text.split(' ').next().unwrap().parse().expect("a decimal")
}

/// The value of "6 quota + 3/6 of the 20 unused - 0.5 cut to whole devices", and the number of fractions in it.
fn total(sum: &str) -> (f64, f64) {
    let (mut total, mut fractions) = (0.0, 0.0);
    let marked = sum.replace(" - ", " + -");
    for term in marked.split(" + ").filter(|term| !term.is_empty()) {
        let (sign, term) = term.strip_prefix('-').map_or((1.0, term), |term| (-1.0, term));
        let (first, rest) = term.split_once(' ').unwrap();
        total += sign
            * match first.split_once('/') {
                Some((weight, sum)) => {
                    fractions += 1.0;
                    let divided = number(rest.trim_start_matches("of the "));
                    number(weight).to_f64() / number(sum).to_f64() * divided.to_f64()
                }
                None => number(first).to_f64(),
            };
    }
    (total, fractions)
}

/// Adds guarantees, usage and `fifo` queues.
fn with_extras(queues: &mut [Value], seed: u64) {
    for (at, queue) in queues.iter_mut().enumerate() {
        let figures = seed.rotate_left(u32::try_from(at).unwrap() * 7).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if figures.is_multiple_of(3) {
            queue["guarantee"] = json!({"slot0": (figures >> 8) % 20, "slot1": (figures >> 16) % 9});
        }
        if (figures >> 24).is_multiple_of(4) {
            queue["mode"] = json!("fifo");
        }
        queue["usage"] = json!({"slot0": format!("0.{}", (figures >> 32) % 100), "slot1": "0.1"});
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn steps_and_sentences_add_up(
        mut queues in queues(Shape { queues: 16, depth: 4, slots: 2 }), total in 0u32..200, seed: u64,
    ) {
        leaves_demand(&mut queues);
        with_extras(&mut queues, seed);
        let tree = tree(Value::Array(queues), slots(2, total));
        for opts in all_options() {
            let options = options(opts.clone());
            for name in algorithm_names() {
                let mut trace = DivisionTrace::on();
                let shares = algorithm(name).unwrap().divide(&tree, &options, &mut trace);
                let explained = trace.explain(&tree, |q, c| shares.fair_share[(q, c)]).unwrap();
                let case = Case { tree: &tree, name, options: &options, shares: &shares };
                for (queue, QueueExplanation { sentence, steps, .. }) in explained.iter().enumerate() {
                    let of = |fault: TestCaseError| {
                        TestCaseError::fail(format!("{name} {opts} {}: {sentence}: {fault}", tree.name(queue)))
                    };
                    case.check_steps(queue, steps).map_err(of)?;
                    case.check_sentence(queue, sentence).map_err(of)?;
                }
            }
        }
    }
}
