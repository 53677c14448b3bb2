//! The parts of the connector for Kueue by themselves: amounts of pods, and boosts within their class.

use std::collections::{BTreeMap, BTreeSet};

use fairshared::connectors::kueue::amounts::QuantityMapping;
use fairshared::connectors::kueue::boosts::{BoostedWorkload, class_room, order_boosts, rank_boosts};
use fairshared::connectors::kueue::objects::KueueWorkload;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::kueue_objects::workload;
use super::kueue_schemas::check_object;

fn requested(spec: &Value, status: &Value) -> BTreeMap<String, String> {
    let mut object = workload("a/w", "u", 5, 0);
    object["spec"]["podSets"][0]["template"]["spec"] = spec.clone();
    object["status"] = status.clone();
    check_object("workloads", &object);
    let read: KueueWorkload = serde_json::from_value(object).unwrap();
    let mapping = QuantityMapping::new(BTreeMap::from([("nvidia.com/gpu".to_owned(), "cuda.device".to_owned())]));
    let amounts = mapping.requested(&read);
    amounts.into_iter().map(|(slot, amount)| (slot, amount.to_string())).collect()
}

fn amounts<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.map(|(slot, amount)| (slot.to_owned(), amount.to_owned())).into()
}

#[test]
fn amounts_of_pods() {
    let container = |name: &str, resources: Value| json!({"name": name, "resources": resources});
    let cpu = |cpu: &str| json!({"requests": {"cpu": cpu}});
    // Two pods each; a limit without a request counts, and resources without a slot do not.
    let spec = json!({"containers": [
        container("a", json!({"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "2", "nvidia.com/gpu": 1}})),
        container("b", json!({"requests": {"cpu": "1", "ephemeral-storage": "1Gi"}}))
    ]});
    let expected = amounts([("cpu", "3"), ("cuda.device", "2"), ("mem", "2147483648")]);
    assert_eq!(requested(&spec, &json!({})), expected);
    // Init containers run one after the other before the others; those that are restarted run beside all.
    let mut beside = container("s", cpu("2"));
    beside["restartPolicy"] = "Always".into();
    let spec = json!({
        "initContainers": [container("i", cpu("4")), beside, container("j", cpu("3"))],
        "containers": [container("a", cpu("1"))], "overhead": {"cpu": "250m"}
    });
    assert_eq!(requested(&spec, &json!({})), amounts([("cpu", "10.5")]));
    // The amounts that Kueue notes for all pods together count first.
    let status = json!({"resourceRequests": [{"name": "main", "resources": {"cpu": "7", "memory": "1k"}}]});
    assert_eq!(requested(&spec, &status), amounts([("cpu", "7"), ("mem", "1000")]));
}

fn sequence(parts: &[(i32, i64)]) -> Vec<BoostedWorkload> {
    let workload = |(number, (priority, boost)): (usize, &(i32, i64))| BoostedWorkload {
        key: number.to_string(),
        priority: *priority,
        boost: *boost,
        rank: u32::try_from(number).ok(),
    };
    parts.iter().enumerate().map(workload).collect()
}

#[test]
fn room_of_a_class() {
    let priorities: BTreeSet<i32> = [-5, 0, 1, 100, i32::MAX].into();
    let room = |priority| class_room(priority, &priorities, 1_000);
    assert_eq!([room(-5), room(0), room(1), room(100), room(i32::MAX)], [4, 0, 98, 1_000, 1_000]);
    // A class without room has no boosts.
    assert!(order_boosts(sequence(&[(0, 0)]), &priorities, 9, 1_000).is_empty());
    assert!(rank_boosts(&sequence(&[(0, 0)]), &priorities, 1_000).is_empty());
}

proptest! {
    #[test]
    fn boosts_fall_strictly_within_their_class(
        parts in prop::collection::vec((prop::sample::select(vec![0, 10, 500]), 0..2_000_i64), 0..80),
        head in 0..100_usize,
    ) {
        let priorities: BTreeSet<i32> = parts.iter().map(|(priority, _)| *priority).collect();
        let jobs = sequence(&parts);
        let found = order_boosts(jobs.clone(), &priorities, head, 5_000);
        prop_assert!(found.len() <= head);
        let job = |key: &str| &jobs[key.parse::<usize>().unwrap()];
        let effective: Vec<i64> = found.iter().map(|(key, boost)| i64::from(job(key).priority) + boost).collect();
        // Along the order, effective priorities fall, across classes as well, and none reaches the next class.
        prop_assert!(effective.windows(2).all(|pair| pair[0] > pair[1]), "{found:?}");
        for (key, boost) in &found {
            let room = class_room(job(key).priority, &priorities, 5_000);
            prop_assert!((1..=room).contains(boost), "{found:?}");
        }
        // Workloads that have their boosts keep them.
        let boosts: BTreeMap<&String, i64> = found.iter().map(|(key, boost)| (key, *boost)).collect();
        let written = jobs.iter().map(|job| BoostedWorkload { boost: boosts.get(&job.key).copied().unwrap_or_default(), ..job.clone() });
        prop_assert_eq!(order_boosts(written.collect(), &priorities, head, 5_000), found);
    }
}
