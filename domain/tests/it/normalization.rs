//! Usage over capacity (FAIR_SHARE §6).

use domain::normalize::UsageNormalizer;
use domain::slots::{SlotAmounts, SlotUsages};
use proptest::prelude::*;

use crate::support::{amounts, cases, close, usages};

fn normalized(usage: &SlotUsages, capacity: &SlotAmounts, weights: &SlotAmounts) -> f64 {
    UsageNormalizer::new(capacity, weights).normalized(usage)
}

/// The proposal's cluster and user: 20 cores, 200 GB and 4 GPUs for 4 hours.
pub fn one_day_example() -> (SlotUsages, SlotAmounts, SlotAmounts) {
    (
        usages(&[("cpu", "288000"), ("mem", "2880000"), ("cuda.device", "57600")]),
        amounts(&[("cpu", "100"), ("mem", "1000"), ("cuda.device", "8")]),
        amounts(&[("cpu", "1.0"), ("mem", "1.0"), ("cuda.device", "10.0")]),
    )
}

#[test]
fn the_proposals_one_day_example() {
    let (usage, capacity, weights) = one_day_example();
    let four_hours = amounts(&[("cpu", "20"), ("mem", "200"), ("cuda.device", "4")]).for_micros(4 * 3_600_000_000);
    assert_eq!(usage, four_hours);
    assert!(close(normalized(&usage, &capacity, &weights), 0.075));
    for (name, ratio) in [("cpu", 1.0 / 30.0), ("mem", 1.0 / 30.0), ("cuda.device", 1.0 / 12.0)] {
        assert!(close(normalized(&usage, &capacity, &amounts(&[(name, "1")])), ratio), "{name}");
    }
}

#[test]
fn the_proposals_capacity_change() {
    let day = |gpus: &str, used: u64| {
        let usage = amounts(&[("cuda.device", "1")]).for_micros(used * 86_400_000_000);
        normalized(&usage, &amounts(&[("cuda.device", gpus)]), &SlotAmounts::default())
    };
    assert!(close(day("100", 10), 0.1));
    assert!(close(day("80", 5), 0.0625));
}

#[test]
fn slots_that_do_not_count() {
    let (usage, capacity, weights) = one_day_example();
    let none = SlotAmounts::default();
    let table = [
        (
            "no weights: every slot with capacity counts 1",
            &capacity,
            &none,
            (1.0 / 30.0 + 1.0 / 30.0 + 1.0 / 12.0) / 3.0,
        ),
        ("a weight of 0 leaves a slot out", &capacity, &amounts(&[("cpu", "1"), ("cuda.device", "0")]), 1.0 / 30.0),
        ("all weights 0", &capacity, &amounts(&[("cpu", "0")]), 0.0),
        ("a weight for a slot that no agent has", &capacity, &amounts(&[("cpu", "1"), ("tpu", "9")]), 1.0 / 30.0),
        ("only such weights", &capacity, &amounts(&[("tpu", "9")]), 0.0),
        ("no agents", &none, &weights, 0.0),
        ("no agents, no weights", &none, &none, 0.0),
        ("capacity 0", &amounts(&[("cpu", "0"), ("mem", "1000")]), &weights, 1.0 / 30.0),
        ("used, but nobody has it", &amounts(&[("mem", "1000")]), &none, 1.0 / 30.0),
        ("had, but not used", &amounts(&[("mem", "1000"), ("tpu", "4")]), &none, 1.0 / 60.0),
    ];
    for (what, capacity, weights, expected) in table {
        assert!(close(normalized(&usage, capacity, weights), expected), "{what}");
    }
    assert_eq!(normalized(&SlotUsages::default(), &capacity, &weights).to_bits(), 0, "no usage is exactly 0");
}

#[test]
fn extremes_stay_finite() {
    let amount = ["0.000000000001", "0.000001", "1", "1000000000000000000000"];
    for held in amount {
        for offered in amount {
            for weight in amount {
                let usage = amounts(&[("cpu", held), ("mem", held)]).for_micros(u64::MAX);
                let weights = amounts(&[("cpu", weight), ("mem", "0.000000000001")]);
                let ratio = normalized(&usage, &amounts(&[("cpu", offered), ("mem", offered)]), &weights);
                assert!(ratio.is_finite() && ratio > 0.0, "{held} {offered} {weight}");
            }
        }
    }
}

fn slots() -> impl Strategy<Value = [u32; 3]> {
    [0u32..1000, 0u32..1000, 0u32..1000]
}

fn three(values: [u32; 3]) -> SlotAmounts {
    let texts = values.map(|v| v.to_string());
    amounts(&[("cpu", &texts[0]), ("mem", &texts[1]), ("cuda.device", &texts[2])])
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn it_is_a_weighted_mean(used in slots(), offered in slots(), weights in slots(), micros in 1u64..1 << 42) {
        let usage = three(used).for_micros(micros);
        let result = normalized(&usage, &three(offered), &three(weights));
        // The proposal's loop, slot by slot.
        let (mut weighted, mut sum) = (0.0, 0.0);
        for at in 0..3 {
            if offered[at] > 0 {
                let seconds = micros as f64 / 1e6;
                weighted += f64::from(used[at]) * seconds / (f64::from(offered[at]) * 86_400.0) * f64::from(weights[at]);
                sum += f64::from(weights[at]);
            }
        }
        let expected = if sum > 0.0 { weighted / sum } else { 0.0 };
        prop_assert!(close(result, expected), "{result} {expected}");
        // More usage never counts less.
        let more = three(used.map(|u| u + 1)).for_micros(micros);
        prop_assert!(normalized(&more, &three(offered), &three(weights)) >= result);
    }
}
