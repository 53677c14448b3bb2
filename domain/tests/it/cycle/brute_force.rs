//! The engine of cycles against a second one that is slow and plain, and against all ways in which members can be put on agents.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::laws::{ALL, IDLE_ROOM, contents, without_cause};
use super::naive::{NaiveCluster, naive_answer};
use super::support::{NOW, cycle};
use super::world::{ClusterContents, apply, list, random};
use crate::support::cases;
use crate::support::dice::Dice;

/// A random cluster with more of what a request may have: places in the order, limits of arrays, rests of running workloads, and
/// running workloads that others keep away from.
fn cluster(dice: &mut Dice, contents: ClusterContents) -> Value {
    let mut document = random(dice, contents);
    let mut running = list(&document["running"]);
    let mut pending = list(&document["pending"]);
    for workload in &mut running {
        if contents.has_rules {
            workload["labels"] = json!({"app": dice.pick(&["x", "y"])});
            if dice.one_in(4) {
                let app = dice.pick(&["x", "y"]);
                let key = dice.pick(&["zone", "agent_id"]);
                workload["affinity"] = json!({"against": [{"labels": {"app": app}, "topology_key": key}]});
            }
        }
    }
    for (at, workload) in pending.iter_mut().enumerate() {
        if dice.one_in(4) {
            workload["position"] = json!(dice.roll(5));
        }
        if let Some(same) = running.get(at).filter(|_| dice.one_in(6)) {
            workload["workload_id"] = same["workload_id"].clone();
            workload["queue"] = same["queue"].clone();
            workload["gang_min"] = json!(1 + dice.roll(2));
        }
        if workload["gang_min"] == 1 && dice.one_in(3) {
            workload["parallel_limit"] = json!(1 + dice.roll(3));
        }
    }
    document["running"] = running.into();
    document["pending"] = pending.into();
    document
}

fn chosen(value: &Value, keys: &[&str]) -> Value {
    let keys = keys.iter().filter_map(|key| Some(((*key).to_owned(), value.get(*key)?.clone())));
    Value::Object(keys.collect())
}

/// The answer of the engine with the keys of the second one.
fn comparable(answer: &Value) -> Value {
    let start = |start: &Value| chosen(start, &["workload_id", "position", "action", "surplus", "members"]);
    let row = |row: &Value| {
        let keys = ["workload_id", "position", "members", "started", "reason", "details", "blocked_by", "reserved_at"];
        let mut kept = chosen(row, &keys);
        match (row["position"].is_null(), row["reason"].as_str().unwrap()) {
            (true, "predicates") => kept["details"] = Value::Null,
            (true, _) => kept["details"] = json!({"scope": row["details"]["scope"]}),
            _ => {}
        }
        kept
    };
    let starts: Vec<Value> = list(&answer["starts"]).iter().map(start).collect();
    let waiting: Vec<Value> = list(&answer["waiting"]).iter().map(row).collect();
    json!({"starts": starts, "waiting": waiting})
}

fn assert_both_agree(seed: u64) -> Value {
    let mut dice = Dice::seeded(seed);
    let contents = ClusterContents { order: "sequencer", ..contents(&mut dice, IDLE_ROOM) };
    let document = cluster(&mut dice, contents);
    let answer = comparable(&cycle(&document));
    let naive = naive_answer(&document);
    for key in ["starts", "waiting"] {
        let (engine, plain) = (list(&answer[key]), list(&naive[key]));
        let difference = engine.iter().zip(&plain).find(|(one, other)| one != other);
        assert_eq!(difference, None, "seed {seed}, the engine and then the second one, of {document}");
        assert_eq!(engine.len(), plain.len(), "seed {seed}: {key} of {document}");
    }
    answer
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn the_second_engine_gives_the_same_answer(seed in any::<u64>()) {
        assert_both_agree(seed);
    }

    #[test]
    fn no_assignment_has_room_where_the_engine_finds_none(seed in any::<u64>()) {
        let mut dice = Dice::seeded(seed);
        let contents = ClusterContents { has_rules: false, has_mixed: false, ..contents(&mut dice, IDLE_ROOM) };
        let document = cluster(&mut dice, contents);
        let answer = cycle(&document);
        assert_no_assignment_fits(&apply(&document, &answer), &answer);
    }

    #[test]
    fn every_reason_of_a_cycle_that_may_evict_is_true(seed in any::<u64>()) {
        let mut dice = Dice::seeded(seed);
        let contents = contents(&mut dice, ALL);
        let mut document = cluster(&mut dice, contents);
        match dice.roll(4) {
            0 => document["cycle"]["search_budget_ms"] = json!(0),
            1 => document["cycle"]["depth"] = json!(1 + dice.roll(3)),
            _ => {}
        }
        for row in list(&cycle(&document)["waiting"]) {
            let Some(changed) = without_cause(&document, &row) else { continue };
            let next = cycle(&changed);
            let still = list(&next["waiting"]).into_iter().find(|other| other["workload_id"] == row["workload_id"]);
            let keys = ["reason", "details", "members", "blocked_by"];
            let is_same = |other: &Value| keys.iter().all(|key| other[key] == row[key]);
            prop_assert!(!still.as_ref().is_some_and(is_same), "{row} in {document:#}, then {next:#}");
        }
    }
}

/// Fails if members that wait for room could be put on agents in any way, or more of them than the reason says.
fn assert_no_assignment_fits(after: &Value, answer: &Value) {
    let cluster = NaiveCluster::read(after);
    let free: Vec<[i64; 2]> = (0..cluster.nodes.len()).map(|agent| cluster.free(&cluster.running, agent)).collect();
    for row in list(&answer["waiting"]).iter().filter(|row| row["reason"] == "no_room" || row["reason"] == "gang") {
        let waiting = cluster.workloads.iter().find(|workload| row["workload_id"] == workload.id.as_str()).unwrap();
        let missing = waiting.gang.saturating_sub(waiting.running).max(1);
        let most = most_on_agents(&mut free.clone(), waiting.members[0].slots, missing);
        assert!(most < missing, "{most} of {missing} fit: {row} in {after:#}");
        let said = row["details"]["fit"].as_u64().unwrap_or(0);
        assert_eq!(most as u64, said, "{row} in {after:#}");
    }
}

/// The largest number of equal members, up to `number`, that any assignment puts on the agents.
fn most_on_agents(free: &mut [[i64; 2]], asked: [i64; 2], number: usize) -> usize {
    if number == 0 {
        return 0;
    }
    let mut most = 0;
    for agent in 0..free.len() {
        if (0..2).all(|slot| asked[slot] == 0 || asked[slot] <= free[agent][slot]) {
            let before = free[agent];
            free[agent] = [before[0] - asked[0], before[1] - asked[1]];
            most = most.max(1 + most_on_agents(free, asked, number - 1));
            free[agent] = before;
        }
    }
    most
}

#[test]
fn the_random_clusters_have_every_reason() {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut starts: BTreeMap<String, usize> = BTreeMap::new();
    for answer in (0..600).map(assert_both_agree) {
        for row in list(&answer["waiting"]) {
            *reasons.entry(row["reason"].as_str().unwrap().to_owned()).or_default() += 1;
        }
        for start in list(&answer["starts"]) {
            *starts.entry(format!("{} {}", start["action"], start["surplus"])).or_default() += 1;
        }
    }
    let expected =
        ["behind", "gang", "no_room", "predicates", "queue_limit", "quota_non_preemptible", "reserved", "too_large"];
    assert!(reasons.keys().map(String::as_str).eq(expected), "{reasons:?}");
    assert!(reasons.values().chain(starts.values()).all(|count| *count >= 5), "{reasons:?} {starts:?}");
    assert_eq!(starts.len(), 4, "{starts:?}");
}

#[test]
fn a_search_that_finds_nothing_and_one_that_does_not_look_differ() {
    // `b` holds what `a` deserves, but nothing of it may be evicted.
    let document = json!({"algorithm": "quota_over_quota", "capacity": {"gpu": 2, "cpu": 8}, "now": NOW,
        "queues": [{"name": "a", "quota": {"gpu": 2}}, {"name": "b", "quota": {"gpu": 0}}],
        "agents": [{"agent_id": "n1", "available_slots": {"gpu": 2, "cpu": 8}}],
        "running": [{"workload_id": "r", "queue": "b", "preemptible": false, "members": [
            {"kernel_id": "k", "slots": {"gpu": 2}, "agent_id": "n1"}]}],
        "pending": [{"workload_id": "w", "queue": "a", "members": [{"slots": {"gpu": 1}}]}]});
    let row = |document: &Value| cycle(document)["waiting"][0].clone();
    assert_eq!(row(&document)["reason"], "reclaim_refused");
    let mut changed = document;
    changed["running"][0]["preemptible"] = json!(true);
    assert_eq!(cycle(&changed)["starts"][0]["action"], "reclaim");
    changed["cycle"]["search_budget_ms"] = json!(0);
    assert_eq!(row(&changed)["reason"], "budget");
}
