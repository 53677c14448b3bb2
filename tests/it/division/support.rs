//! Short ways to write trees, and random ones.

use std::collections::BTreeMap;

use fairshared::domain::decimal::Amount;
use fairshared::domain::division::{DivisionOptions, DivisionResult, DivisionTrace, QueueTree, algorithm};
use fairshared::domain::fault::Fault;
use fairshared::domain::queues::QueueSpec;
use fairshared::domain::slots::SlotAmounts;
use proptest::prelude::*;
use serde_json::{Value, json};

pub fn amount(text: &str) -> Amount {
    text.parse().expect("a legal amount")
}

pub fn specs(queues: Value) -> Vec<QueueSpec> {
    serde_json::from_value(queues).expect("legal queues")
}

pub fn capacity(slots: Value) -> SlotAmounts {
    serde_json::from_value(slots).expect("a legal capacity")
}

pub fn options(options: Value) -> DivisionOptions {
    serde_json::from_value(options).expect("legal options")
}

pub fn build(queues: Value, slots: Value) -> Result<QueueTree, Vec<Fault>> {
    QueueTree::build(&specs(queues), &capacity(slots))
}

pub fn tree(queues: Value, slots: Value) -> QueueTree {
    build(queues, slots).expect("a tree")
}

pub fn divide(tree: &QueueTree, name: &str, options: &DivisionOptions) -> DivisionResult {
    algorithm(name).expect("a known algorithm").divide(tree, options, &mut DivisionTrace::off())
}

/// The share of every queue as text, the slots in name order, by queue name.
pub fn shares(tree: &QueueTree, shares: &DivisionResult) -> BTreeMap<String, String> {
    let text = |q: usize| shares.fair_share.row(q).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    (0..tree.len()).map(|q| (tree.name(q).to_owned(), text(q))).collect()
}

/// Divides and checks the shares of the queues named.
pub fn expect(name: &str, opts: &Value, queues: Value, slots: Value, expected: &[(&str, &str)]) {
    let tree = tree(queues, slots);
    let divided = divide(&tree, name, &options(opts.clone()));
    let shown = shares(&tree, &divided);
    for (queue, share) in expected {
        assert_eq!(shown[*queue], *share, "{queue} under {name} {opts}: {shown:?}");
    }
}

/// The properties of random trees.
#[derive(Clone, Copy)]
pub struct Shape {
    pub queues: usize,
    pub depth: usize,
    pub slots: usize,
}

/// A random tree as JSON queues, each parent before its children.
pub fn queues(shape: Shape) -> impl Strategy<Value = Vec<Value>> {
    let queue = (any::<u32>(), any::<u64>(), prop::collection::vec(any::<u64>(), shape.slots));
    prop::collection::vec(queue, 1..=shape.queues).prop_map(move |seeds| {
        let mut depths: Vec<usize> = Vec::new();
        let mut queues = Vec::new();
        for (at, (parent, figures, slots)) in seeds.into_iter().enumerate() {
            let candidate = parent as usize % (at + 1);
            let parent = (candidate < at && depths[candidate] + 1 < shape.depth).then_some(candidate);
            depths.push(parent.map_or(0, |p| depths[p] + 1));
            queues.push(queue_of(at, parent, figures, &slots));
        }
        queues
    })
}

fn queue_of(at: usize, parent: Option<usize>, figures: u64, slots: &[u64]) -> Value {
    let (mut request, mut quota, mut limit, mut over, mut allocated) =
        (json!({}), json!({}), json!({}), json!({}), json!({}));
    for (slot, seed) in slots.iter().enumerate() {
        let name = format!("slot{slot}");
        let want = seed % 41;
        request[&name] = format!("{want}.{}", (seed >> 8) % 10).into();
        allocated[&name] = json!((seed >> 12) % (want + 1));
        match (seed >> 16) % 5 {
            0 => {}
            1 => quota[&name] = json!("unlimited"),
            n => quota[&name] = json!((seed >> 20) % (5 * n)),
        }
        if (seed >> 28) % 3 == 0 {
            limit[&name] = json!((seed >> 32) % 30);
        }
        over[&name] = json!((seed >> 40) % 4);
    }
    let weights = ["0", "1", "1", "2", "3", "0.5"];
    let pick = |shift: u32| weights[usize::try_from((figures >> shift) % 6).expect("below 6")];
    let mut queue = json!({
        "name": format!("q{at}"),
        "priority": (figures >> 4) % 3,
        "weight": pick(8),
        "min_share_ratio": format!("0.{}", (figures >> 16) % 5),
        "over_quota_weight": over,
        "quota": quota,
        "limit": limit,
        "request": request,
        "allocated": allocated,
        "children_over_quota_by": if (figures >> 24).is_multiple_of(4) { "quota" } else { "weight" },
    });
    if let Some(parent) = parent {
        queue["parent"] = json!(format!("q{parent}"));
    }
    queue
}

/// Demand belongs to leaves: inner queues derive theirs.
pub fn leaves_demand(queues: &mut [Value]) {
    let parents: std::collections::HashSet<String> =
        queues.iter().filter_map(|q| q["parent"].as_str().map(str::to_owned)).collect();
    for queue in queues {
        if parents.contains(queue["name"].as_str().unwrap_or_default()) {
            let queue = queue.as_object_mut().expect("an object");
            queue.remove("request");
            queue.remove("allocated");
        }
    }
}

pub fn slots(count: usize, amount: u32) -> Value {
    Value::Object(
        (0..count).map(|s| (format!("slot{s}"), json!(amount + 7 * u32::try_from(s).expect("few")))).collect(),
    )
}

/// A configuration with this number of cases, and without regression files in the source folder.
pub fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}
