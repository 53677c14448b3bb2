//! Small random clusters, and what a scheduler does that carries a cycle out.

use serde_json::{Map, Value, json};

use super::support::NOW;
use crate::support::dice::Dice;

/// The cluster after the starts and evictions of an answer. Evicted members are submitted again.
pub fn apply(document: &Value, answer: &Value) -> Value {
    let mut next = document.clone();
    let mut pending = expanded(document);
    let mut running = list(&document["running"]);
    for eviction in list(&answer["evictions"]) {
        evict(&eviction, &mut running, &mut pending);
    }
    for start in list(&answer["starts"]) {
        begin(&start, &mut running, &pending, document);
    }
    for start in list(&answer["starts"]) {
        let members = pending.iter_mut().find(|w| w["workload_id"] == start["workload_id"]).expect("it waited");
        for member in list(&start["members"]) {
            members["members"][usize::try_from(member["member"].as_u64().unwrap()).unwrap()] = Value::Null;
        }
    }
    for workload in &mut pending {
        let members: Vec<Value> = list(&workload["members"]).into_iter().filter(|member| !member.is_null()).collect();
        workload["members"] = members.into();
    }
    pending.retain(|workload| !workload["members"].as_array().unwrap().is_empty());
    running.retain(|workload| !workload["members"].as_array().unwrap().is_empty());
    next["pending"] = pending.into();
    next["running"] = running.into();
    next
}

pub fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

/// The pending workloads with one entry for each member.
pub fn expanded(document: &Value) -> Vec<Value> {
    let mut pending = match &document["pending"] {
        Value::Array(pending) => pending.clone(),
        one => vec![one.clone()],
    };
    for workload in &mut pending {
        let each = list(&workload["members"]).into_iter().flat_map(|mut member| {
            let count = usize::try_from(member["count"].as_u64().unwrap_or(1)).unwrap();
            member.as_object_mut().unwrap().remove("count");
            vec![member; count]
        });
        workload["members"] = each.collect();
    }
    pending
}

/// The keys that a workload keeps between waiting and running.
fn kept(workload: &Value, keys: &[&str]) -> Map<String, Value> {
    keys.iter().filter_map(|key| Some(((*key).to_owned(), workload.get(*key)?.clone()))).collect()
}

const COMMON: [&str; 8] =
    ["workload_id", "queue", "priority", "preemptible", "gang_min", "labels", "affinity", "expected_seconds"];

fn evict(eviction: &Value, running: &mut [Value], pending: &mut Vec<Value>) {
    let id = &eviction["workload_id"];
    let workload = running.iter_mut().find(|workload| workload["workload_id"] == *id).expect("a victim runs");
    let gone = list(&eviction["kernel_ids"]);
    let (out, left): (Vec<Value>, Vec<Value>) =
        list(&workload["members"]).into_iter().partition(|member| gone.contains(&member["kernel_id"]));
    assert_eq!(out.len(), gone.len(), "every victim runs");
    workload["members"] = left.into();
    let members = out.iter().map(|member| json!({"slots": member["slots"]}));
    if let Some(waiting) = pending.iter_mut().find(|workload| workload["workload_id"] == *id) {
        waiting["members"].as_array_mut().unwrap().extend(members);
    } else {
        let mut waiting = kept(workload, &COMMON);
        waiting.insert("members".to_owned(), members.collect());
        pending.push(waiting.into());
    }
}

fn begin(start: &Value, running: &mut Vec<Value>, pending: &[Value], document: &Value) {
    let id = &start["workload_id"];
    let waiting = pending.iter().find(|workload| workload["workload_id"] == *id).expect("it waited");
    let at = running.iter().position(|workload| workload["workload_id"] == *id).unwrap_or_else(|| {
        let mut workload = kept(waiting, &COMMON);
        workload.insert("started_at".to_owned(), document["now"].clone());
        workload.entry("gang_min").or_insert_with(|| list(&waiting["members"]).len().into());
        workload.insert("members".to_owned(), json!([]));
        running.push(workload.into());
        running.len() - 1
    });
    for member in list(&start["members"]) {
        let number = usize::try_from(member["member"].as_u64().unwrap()).unwrap();
        let count = running[at]["members"].as_array().unwrap().len();
        let kernel = format!("{}-{number}-{count}", id.as_str().unwrap());
        let mut seat = json!({"kernel_id": kernel, "slots": waiting["members"][number]["slots"]});
        if !member["agent_id"].is_null() {
            seat["agent_id"] = member["agent_id"].clone();
        }
        running[at]["members"].as_array_mut().unwrap().push(seat);
    }
}

/// The contents that a random cluster may have.
#[derive(Clone, Copy)]
pub struct ClusterContents {
    pub actions: &'static [&'static str],
    pub order: &'static str,
    pub backfill: &'static str,
    /// Labels, taints, affinity and `max_per_agent`.
    pub has_rules: bool,
    /// Gangs of unequal members.
    pub has_mixed: bool,
}

pub fn random(dice: &mut Dice, contents: ClusterContents) -> Value {
    let agents: Vec<Value> = (1..=1 + dice.roll(3)).map(|at| agent(dice, at, contents)).collect();
    // The capacity of a live group is that of the agents in service.
    let counts = |agent: &&Value| agent["available_slots"]["gpu"] != 1 || agent["schedulable"] != false;
    let sum = |slot: &str| {
        agents.iter().filter(counts).map(|agent| agent["available_slots"][slot].as_u64().unwrap()).sum::<u64>()
    };
    let (gpu, cpu) = (sum("gpu"), sum("cpu"));
    let queues = queues(dice, gpu.max(1));
    let running = running(dice, &agents);
    let pending: Vec<Value> = (1..=1 + dice.roll(6)).map(|at| pending(dice, at, contents)).collect();
    json!({
        "algorithm": "quota_over_quota", "capacity": {"gpu": gpu, "cpu": cpu}, "now": NOW, "agents": agents,
        "queues": queues, "running": running, "pending": pending,
        "cycle": {"actions": contents.actions, "order": contents.order, "backfill": contents.backfill,
            "queue_order": dice.pick(&["saturation", "score"])}
    })
}

fn agent(dice: &mut Dice, at: u64, contents: ClusterContents) -> Value {
    let mut agent =
        json!({"agent_id": format!("n{at}"), "available_slots": {"gpu": 1 + dice.roll(4), "cpu": 2 + dice.roll(5)}});
    if contents.has_rules {
        agent["labels"] = json!({"zone": dice.pick(&["x", "y"])});
        if dice.one_in(4) {
            agent["taints"] = json!([{"key": "t", "effect": dice.pick(&["NoSchedule", "PreferNoSchedule"])}]);
        }
        agent["schedulable"] = json!(!dice.one_in(8));
    }
    agent
}

fn queues(dice: &mut Dice, gpu: u64) -> Vec<Value> {
    let mut queues = vec![json!({"name": "top"})];
    for name in ["a", "b", "c"] {
        let mut queue = json!({"name": name, "quota": {"gpu": dice.roll(gpu + 1), "cpu": dice.roll(6)}});
        if dice.one_in(2) {
            queue["parent"] = json!("top");
        }
        if dice.one_in(4) {
            queue["limit"] = json!({"gpu": 1 + dice.roll(gpu)});
        }
        queues.push(queue);
    }
    queues
}

/// Running workloads that fit on their agents.
fn running(dice: &mut Dice, agents: &[Value]) -> Vec<Value> {
    let mut workloads = Vec::new();
    for agent in agents {
        let slots = &agent["available_slots"];
        let (mut gpu, mut cpu) = (slots["gpu"].as_u64().unwrap(), slots["cpu"].as_u64().unwrap());
        while dice.roll(4) > 0 {
            let (g, c) = (dice.roll(3), dice.roll(3));
            if g > gpu || c > cpu {
                break;
            }
            (gpu, cpu) = (gpu - g, cpu - c);
            let id = format!("r{}", workloads.len() + 1);
            let mut workload = json!({"workload_id": id, "queue": dice.pick(&["a", "b", "c"]), "priority": dice.roll(3),
                "preemptible": !dice.one_in(4), "started_at": NOW, "members": [
                    {"kernel_id": format!("{id}-k"), "slots": {"gpu": g, "cpu": c}, "agent_id": agent["agent_id"]}]});
            if dice.one_in(2) {
                workload["expected_seconds"] = json!(10 * (1 + dice.roll(9)));
            }
            workloads.push(workload);
        }
    }
    workloads
}

fn pending(dice: &mut Dice, at: u64, contents: ClusterContents) -> Value {
    let groups = if contents.has_mixed { 1 + dice.roll(2) } else { 1 };
    let members: Vec<Value> = (0..groups)
        .map(|_| json!({"slots": {"gpu": dice.roll(3), "cpu": dice.roll(3)}, "count": 1 + dice.roll(3), "priority": dice.roll(2)}))
        .collect();
    let mut workload = json!({"workload_id": format!("w{at}"), "queue": dice.pick(&["a", "b", "c"]), "priority": dice.roll(3),
        "preemptible": !dice.one_in(4), "members": members});
    if dice.one_in(2) {
        workload["gang_min"] = json!(1);
    }
    if dice.one_in(2) {
        workload["expected_seconds"] = json!(10 * (1 + dice.roll(9)));
    }
    if dice.one_in(3) {
        workload["submitted_at"] = json!(format!("2026-01-13T09:00:0{}Z", dice.roll(9)));
    }
    if contents.has_rules {
        add_rules(dice, &mut workload);
    }
    workload
}

fn add_rules(dice: &mut Dice, workload: &mut Value) {
    workload["labels"] = json!({"app": dice.pick(&["x", "y"])});
    let term = json!([{"labels": {"app": dice.pick(&["x", "y"])}, "topology_key": dice.pick(&["zone", "agent_id"])}]);
    match dice.roll(5) {
        0 => workload["affinity"] = json!({"with": term}),
        1 => workload["affinity"] = json!({"against": term}),
        2 => workload["max_per_agent"] = json!(1 + dice.roll(2)),
        3 => workload["tolerations"] = json!([{"operator": "Exists"}]),
        _ => workload["affinity"] = json!({"agents": [{"key": "zone", "operator": "In", "values": ["x"]}]}),
    }
}
