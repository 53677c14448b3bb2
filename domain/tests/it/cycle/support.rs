//! Short ways to write cycles and to read their answers.

use domain::cycle::CycleSimulation;
use domain::fault::Fault;
use serde_json::{Value, json};

use crate::support::at;

pub const NOW: &str = "2026-01-13T10:00:00Z";

/// The faults of a request that can be read, or its answer.
pub fn try_cycle(document: &Value) -> Result<Value, Vec<Fault>> {
    let simulation: CycleSimulation = serde_json::from_value(document.clone()).expect("a request that can be read");
    let answer = simulation.run(at(NOW))?;
    Ok(serde_json::to_value(answer).expect("an answer is JSON"))
}

pub fn cycle(document: &Value) -> Value {
    try_cycle(document).expect("a request without faults")
}

/// A group of 4 gpu with the queues `a` and `b`, each with a quota of 2. Keys of `more` replace those of the group.
pub fn group(more: Value) -> Value {
    let group = json!({
        "algorithm": "quota_over_quota", "capacity": {"gpu": 4}, "running": [], "pending": [], "now": NOW,
        "queues": [{"name": "a", "quota": {"gpu": 2}}, {"name": "b", "quota": {"gpu": 2}}]
    });
    merged(group, more)
}

/// An object with the keys of another one put over its own.
pub fn merged(mut object: Value, more: Value) -> Value {
    if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
}

/// Agents of that many gpu, called `n1`, `n2` and so on.
pub fn agents(sizes: &[u64]) -> Value {
    let agent = |(at, gpu): (usize, &u64)| json!({"agent_id": format!("n{}", at + 1), "available_slots": {"gpu": gpu}});
    sizes.iter().enumerate().map(agent).collect()
}

/// A pending workload of one member.
pub fn job(id: &str, queue: &str, gpu: u64) -> Value {
    json!({"workload_id": id, "queue": queue, "members": [{"slots": {"gpu": gpu}}]})
}

/// A pending workload of equal members of one gpu.
pub fn gang(id: &str, queue: &str, count: u64) -> Value {
    json!({"workload_id": id, "queue": queue, "members": [{"slots": {"gpu": 1}, "count": count}]})
}

/// A running workload of one member on an agent.
pub fn runs(id: &str, queue: &str, gpu: u64, agent: &str) -> Value {
    json!({"workload_id": id, "queue": queue, "members": [
        {"kernel_id": format!("{id}-k"), "slots": {"gpu": gpu}, "agent_id": agent}]})
}

/// The same workload with more keys.
pub fn with(workload: Value, more: Value) -> Value {
    merged(workload, more)
}

/// The starts as `workload action agent,agent`.
pub fn starts(answer: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let start = |start: &Value| {
        let agents: Vec<String> =
            start["members"].as_array().expect("members").iter().map(|member| text(&member["agent_id"])).collect();
        format!("{} {} {}", text(&start["workload_id"]), text(&start["action"]), agents.join(","))
    };
    answer["starts"].as_array().expect("starts").iter().map(start).collect()
}

/// The workloads that start, in order, without surplus.
pub fn started(answer: &Value) -> Vec<String> {
    let starts = answer["starts"].as_array().expect("starts").iter().filter(|start| start["surplus"] == false);
    starts.map(|start| start["workload_id"].as_str().expect("an id").to_owned()).collect()
}

/// The evictions as `workload for beneficiary by rule`.
pub fn evictions(answer: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let eviction = |e: &Value| format!("{} for {} by {}", text(&e["workload_id"]), text(&e["for"]), text(&e["rule"]));
    answer["evictions"].as_array().expect("evictions").iter().map(eviction).collect()
}

/// The row of the answer about a workload that waits.
pub fn waits<'a>(answer: &'a Value, id: &str) -> &'a Value {
    let waiting = answer["waiting"].as_array().expect("waiting");
    waiting.iter().find(|row| row["workload_id"] == id).unwrap_or_else(|| panic!("{id} does not wait in {answer:#}"))
}

/// The reason and the figures of a workload that waits.
pub fn reason(answer: &Value, id: &str) -> (String, Value) {
    let row = waits(answer, id);
    (row["reason"].as_str().expect("a reason").to_owned(), row["details"].clone())
}

/// The codes of the warnings.
pub fn warnings(answer: &Value) -> Vec<&str> {
    answer["warnings"].as_array().expect("warnings").iter().map(|w| w["code"].as_str().expect("a code")).collect()
}
