//! The sentences of the documents of kube-batch and Run:ai, as cycles to their end.

use serde_json::{Value, json};

use super::support::{cycle, evictions, gang, group, job, merged, runs, started, starts, with};
use super::world::apply;

fn singles(prefix: &str, queue: &str, count: u64) -> Vec<Value> {
    (1..=count).map(|at| runs(&format!("{prefix}{at}"), queue, 1, "n1")).collect()
}

/// Runs cycles until one starts nothing. Evicted members are submitted again.
fn until_quiet(mut document: Value) -> Value {
    for _ in 0..10 {
        let answer = cycle(&document);
        if answer["starts"].as_array().unwrap().is_empty() {
            return document;
        }
        document = apply(&document, &answer);
    }
    panic!("the cycles never end");
}

fn held(document: &Value, queue: &str) -> usize {
    let running = document["running"].as_array().unwrap().iter().filter(|workload| workload["queue"] == queue);
    running.map(|workload| workload["members"].as_array().unwrap().len()).sum()
}

/// "When third queue is created, deserved share of previous two queues is reduced ... So jobs/tasks which is under old
/// queues will not be evicted until, new jobs/tasks comes to new queue."
#[test]
fn a_third_queue_of_kube_batch() {
    let running: Vec<Value> = singles("q1-", "q1", 6).into_iter().chain(singles("q2-", "q2", 6)).collect();
    let queues = json!([{"name": "q1"}, {"name": "q2"}, {"name": "q3"}]);
    let group = |pending: Value| {
        group(json!({"algorithm": "proportion", "capacity": {"gpu": 12}, "queues": queues, "running": running,
            "pending": pending, "options": {"policy": "plugins", "tiers": [["priority", "gang", "conformance", "proportion"]]},
            "cycle": {"order": "queues"}}))
    };
    let waiting = |queue: &str| (1..=6).map(|at| job(&format!("{queue}-new{at}"), queue, 1)).collect::<Vec<Value>>();
    let before = cycle(&group(json!([waiting("q1"), waiting("q2")].concat())));
    assert!(
        started(&before).is_empty() && evictions(&before).is_empty(),
        "no queue has a claim before the new jobs come"
    );
    let all = json!([waiting("q1"), waiting("q2"), waiting("q3")].concat());
    let end = until_quiet(group(all));
    assert_eq!((held(&end, "q1"), held(&end, "q2"), held(&end, "q3")), (4, 4, 4));
}

/// "the Scheduler either allocates and binds all pods together, or puts all of them into pending state. It retries to
/// schedule them all together in the next scheduling cycle."
#[test]
fn all_pods_of_a_gang_together_or_none() {
    let document = group(
        json!({"running": [runs("r", "b", 1, "n1")], "pending": gang("g", "a", 4), "cycle": {"actions": ["allocate"]}}),
    );
    assert!(started(&cycle(&document)).is_empty());
    assert_eq!(starts(&cycle(&merged(document, json!({"running": []})))), ["g allocate -,-,-,-"]);
}

/// "a lower priority workload submitted in one project can reclaim resources from a project that runs a higher priority
/// workload if fairness balancing is required."
#[test]
fn fairness_goes_before_priority_between_projects() {
    let urgent: Vec<Value> = singles("r", "b", 4).into_iter().map(|w| with(w, json!({"priority": 100}))).collect();
    let answer = cycle(&group(json!({"running": urgent, "pending": with(job("w", "a", 2), json!({"priority": 1}))})));
    assert_eq!(evictions(&answer).len(), 2);
}

/// "Only preemptive workloads can go over quota as they are susceptible to reclaim."
#[test]
fn only_preemptible_work_goes_over_quota() {
    let fixed = with(job("fixed", "a", 3), json!({"preemptible": false}));
    let answer = cycle(&group(json!({"pending": [fixed, job("loose", "a", 3)]})));
    assert_eq!(started(&answer), ["loose"]);
}

/// "If this does not solve the resource issue, the Scheduler tries to preempt lower priority preemptible workloads within
/// the same queue."
#[test]
fn preemption_comes_after_reclaim() {
    let running = [with(runs("train", "a", 2, "n1"), json!({"priority": 0})), runs("other", "b", 2, "n1")];
    let answer = cycle(&group(json!({"running": running, "pending": with(job("w", "a", 2), json!({"priority": 1}))})));
    assert_eq!(evictions(&answer), ["train for w by priority"]);
    assert_eq!(starts(&answer), ["w preempt -"]);
}

/// "If a project needs more resources even beyond its fairshare, and the Scheduler finds unused resources that no other
/// project needs, this project can consume resources even beyond its fairshare."
#[test]
fn unused_room_is_for_all() {
    let queues =
        json!([{"name": "a", "quota": {"gpu": 2}, "over_quota_weight": 0}, {"name": "b", "quota": {"gpu": 2}}]);
    let answer = cycle(&group(json!({"queues": queues, "pending": job("w", "a", 4), "cycle": {"order": "queues"}})));
    assert_eq!(started(&answer), ["w"]);
}

/// "Project 3 has no guaranteed quota, but it still has a share of the excess resources ... even if this results in
/// reclaiming resources from other projects and preempting preemptible workloads."
#[test]
fn the_example_of_36_gpus_to_its_end() {
    let queues = json!([
        {"name": "p1", "quota": {"gpu": 10}, "over_quota_weight": 2}, {"name": "p2", "quota": {"gpu": 6}, "over_quota_weight": 3},
        {"name": "p3", "over_quota_weight": 1}
    ]);
    let waiting = |queue: &str| (1..=36).map(|at| job(&format!("{queue}-{at}"), queue, 1)).collect::<Vec<Value>>();
    let pending: Vec<Value> = ["p1", "p2", "p3"].iter().flat_map(|queue| waiting(queue)).collect();
    let document = group(json!({"capacity": {"gpu": 36}, "queues": queues, "running": singles("old", "p1", 36),
        "pending": pending, "options": {"rounding": "whole"}, "cycle": {"order": "queues"}}));
    let end = until_quiet(document);
    assert_eq!((held(&end, "p1"), held(&end, "p2"), held(&end, "p3")), (17, 16, 3));
}
