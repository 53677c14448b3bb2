//! Large cycles end in time that grows with their size and not with its square.

use std::time::Instant;

use serde_json::{Value, json};

use super::support::{NOW, cycle};

/// A group of agents with 8 gpu each, of which 7 run something, in that many queues.
fn crowd(agents: usize, queues: usize, pending: &[Value], options: &Value) -> Value {
    let names: Vec<String> = (0..queues).map(|at| format!("q{at}")).collect();
    let nodes: Vec<Value> =
        (0..agents).map(|at| json!({"agent_id": format!("n{at}"), "available_slots": {"gpu": 8, "cpu": 64}})).collect();
    let running: Vec<Value> = (0..agents * 7)
        .map(|at| {
            json!({"workload_id": format!("r{at}"), "queue": names[at % queues], "started_at": NOW, "expected_seconds": 60 + at % 1000,
                "members": [{"kernel_id": format!("k{at}"), "slots": {"gpu": 1, "cpu": 4}, "agent_id": format!("n{}", at / 7)}]})
        })
        .collect();
    json!({"algorithm": "quota_over_quota", "capacity": {"gpu": agents * 8, "cpu": agents * 64}, "now": NOW, "agents": nodes,
        "queues": names.iter().map(|name| json!({"name": name, "quota": {"gpu": 2}})).collect::<Vec<_>>(), "running": running,
        "pending": pending, "cycle": options})
}

fn singles(count: usize, queues: usize, gpu: usize) -> Vec<Value> {
    let one = |at: usize| {
        json!({"workload_id": format!("w{at}"), "queue": format!("q{}", at % queues), "expected_seconds": 3600,
        "members": [{"slots": {"gpu": gpu, "cpu": 2}}]})
    };
    (0..count).map(one).collect()
}

fn options() -> Vec<(&'static str, Value)> {
    let idle = ["allocate", "backfill"];
    vec![
        ("strict", json!({"actions": idle, "backfill": "none"})),
        ("skip", json!({"actions": idle})),
        ("easy", json!({"actions": idle, "backfill": "easy"})),
        ("queues", json!({"actions": idle, "order": "queues"})),
        ("scores", json!({"actions": idle, "order": "queues", "queue_order": "score"})),
        ("queues, easy", json!({"actions": idle, "order": "queues", "backfill": "easy"})),
        ("all actions", json!({"order": "queues"})),
    ]
}

fn measure(agents: usize, queues: usize, pending: &[Value]) {
    for (name, options) in options() {
        let document = crowd(agents, queues, pending, &options);
        let start = Instant::now();
        let answer = cycle(&document);
        let (starts, waiting) =
            (answer["starts"].as_array().unwrap().len(), answer["waiting"].as_array().unwrap().len());
        println!(
            "{agents} agents, {} pending, {name}: {:?}, {starts} start, {waiting} wait",
            pending.len(),
            start.elapsed()
        );
        assert_eq!(starts + waiting, pending.len());
    }
}

#[test]
fn equal_workloads_are_judged_once() {
    let mut pending = singles(2000, 20, 1);
    pending.insert(0, json!({"workload_id": "big", "queue": "q0", "priority": 9, "members": [{"slots": {"gpu": 8}}]}));
    measure(50, 20, &pending);
}

#[test]
#[ignore = "long"]
fn long_equal_workloads_are_judged_once() {
    measure(5000, 2000, &singles(10_000, 2000, 1));
    measure(5000, 2000, &singles(320_000, 2000, 1));
    measure(5000, 2000, &singles(500_000, 2000, 2));
}
