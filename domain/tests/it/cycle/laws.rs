//! The laws of a cycle on small random clusters (`docs/CYCLE.md`, "Laws").

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::cycle;
use super::world::{ClusterContents, apply, expanded, list, random};
use crate::support::cases;
use crate::support::dice::Dice;

const ALL: &[&str] = &["allocate", "backfill", "reclaim", "preempt"];
const IDLE_ROOM: &[&str] = &["allocate", "backfill"];

fn contents(dice: &mut Dice, actions: &'static [&'static str]) -> ClusterContents {
    ClusterContents {
        actions,
        order: dice.pick(&["sequencer", "queues"]),
        backfill: dice.pick(&["none", "skip", "easy"]),
        has_rules: dice.one_in(3),
        has_mixed: dice.one_in(3),
    }
}

fn amount(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| value.as_str().map_or(0.0, |text| text.parse().unwrap()))
}

/// The amounts that members hold, by agent and slot.
fn used(document: &Value) -> BTreeMap<(String, String), f64> {
    let mut used = BTreeMap::new();
    for member in list(&document["running"]).iter().flat_map(|workload| list(&workload["members"])) {
        let agent = member["agent_id"].as_str().unwrap().to_owned();
        for (slot, units) in member["slots"].as_object().unwrap() {
            *used.entry((agent.clone(), slot.clone())).or_insert(0.0) += amount(units);
        }
    }
    used
}

fn assert_capacity_holds(after: &Value) {
    let used = used(after);
    for agent in list(&after["agents"]) {
        for (slot, total) in agent["available_slots"].as_object().unwrap() {
            let key = (agent["agent_id"].as_str().unwrap().to_owned(), slot.clone());
            assert!(used.get(&key).copied().unwrap_or(0.0) <= amount(total), "{key:?} in {after:#}");
        }
    }
}

/// The queues in whose subtree a member started hold no more than their limits, on the slots that it asks for.
fn assert_limits_hold(document: &Value, answer: &Value) {
    let (queues, waiting) = (list(&document["queues"]), expanded(document));
    let find = |name: &Value| queues.iter().find(|queue| queue["name"] == *name);
    for start in list(&answer["starts"]) {
        let members = &waiting.iter().find(|w| w["workload_id"] == start["workload_id"]).unwrap()["members"];
        let numbers: Vec<usize> =
            list(&start["members"]).iter().map(|m| usize::try_from(m["member"].as_u64().unwrap()).unwrap()).collect();
        let mut queue = find(&start["queue"]);
        while let Some(known) = queue {
            let figures = list(&answer["after"]).into_iter().find(|figures| figures["queue"] == known["name"]).unwrap();
            for (slot, limit) in known["limit"].as_object().into_iter().flatten() {
                if numbers.iter().any(|number| amount(&members[*number]["slots"][slot]) > 0.0) {
                    let held = amount(&figures["allocated"][slot]);
                    assert!(held <= amount(limit), "{known} holds {held} in {answer:#} of {document:#}");
                }
            }
            queue = find(&known["parent"]);
        }
    }
}

/// Asserts that at least the minimum of each gang starts, or nothing.
fn assert_gangs_are_whole(document: &Value, answer: &Value) {
    let mut started: BTreeMap<String, usize> = BTreeMap::new();
    for start in list(&answer["starts"]) {
        *started.entry(start["workload_id"].as_str().unwrap().to_owned()).or_default() += list(&start["members"]).len();
    }
    for workload in expanded(document) {
        let all = list(&workload["members"]).len();
        let minimum = workload["gang_min"].as_u64().map_or(all, |min| usize::try_from(min.max(1)).unwrap());
        let started = started.get(workload["workload_id"].as_str().unwrap()).copied().unwrap_or(0);
        assert!(started == 0 || started >= minimum, "{workload} in {answer:#}");
        let waits = list(&answer["waiting"]).iter().any(|row| row["workload_id"] == workload["workload_id"]);
        assert_eq!(waits, started < all, "{workload} waits or has started: {answer:#} of {document:#}");
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn capacity_limits_and_gangs_hold(seed in any::<u64>()) {
        let mut dice = Dice::seeded(seed);
        let contents = contents(&mut dice, ALL);
        let document = random(&mut dice, contents);
        let answer = cycle(&document);
        assert_capacity_holds(&apply(&document, &answer));
        assert_limits_hold(&document, &answer);
        assert_gangs_are_whole(&document, &answer);
    }

    #[test]
    fn a_second_cycle_starts_nothing(seed in any::<u64>()) {
        let mut dice = Dice::seeded(seed);
        let contents = contents(&mut dice, IDLE_ROOM);
        let document = random(&mut dice, contents);
        let answer = cycle(&document);
        let second = cycle(&apply(&document, &answer));
        prop_assert!(list(&second["starts"]).is_empty(), "{document:#} gives {answer:#} and then {second:#}");
    }

    #[test]
    fn a_second_cycle_starts_nothing_without_evicting_what_the_first_started(seed in any::<u64>()) {
        let mut dice = Dice::seeded(seed);
        let contents = contents(&mut dice, ALL);
        let document = random(&mut dice, contents);
        let answer = cycle(&document);
        if list(&answer["evictions"]).is_empty() {
            let second = cycle(&apply(&document, &answer));
            let has_started = |id: &Value| list(&answer["starts"]).iter().any(|start| start["workload_id"] == *id);
            let victims = list(&second["evictions"]);
            let excused = victims.iter().any(|victim| has_started(&victim["workload_id"]));
            prop_assert!(excused || list(&second["starts"]).is_empty(), "{document:#} gives {answer:#} and then {second:#}");
        }
    }

    #[test]
    fn no_queue_takes_back_what_a_plan_started(seed in any::<u64>()) {
        let mut dice = Dice::seeded(seed);
        let contents = ClusterContents { order: "queues", ..contents(&mut dice, ALL) };
        let document = random(&mut dice, contents);
        let answer = cycle(&document);
        let by_reclaim = |answer: &Value, key: &str| -> Vec<Value> {
            list(&answer[key]).into_iter().filter(|entry| entry["action"] == "reclaim").collect()
        };
        let evicted_for: Vec<Value> = by_reclaim(&answer, "evictions").into_iter().map(|e| e["for"].clone()).collect();
        let second = cycle(&apply(&document, &answer));
        for eviction in by_reclaim(&second, "evictions") {
            prop_assert!(!evicted_for.contains(&eviction["workload_id"]), "{document:#} gives {answer:#} and then {second:#}");
        }
    }

    #[test]
    fn the_order_of_the_input_changes_nothing(seed in any::<u64>()) {
        let mut dice = Dice::seeded(seed);
        let contents = contents(&mut dice, ALL);
        let document = random(&mut dice, contents);
        let mut shuffled = document.clone();
        for key in ["agents", "queues", "running", "pending"] {
            let mut items = list(&document[key]);
            for at in (1..items.len()).rev() {
                items.swap(at, usize::try_from(dice.roll(at as u64 + 1)).unwrap());
            }
            shuffled[key] = items.into();
        }
        let [mut answer, mut other] = [cycle(&document), cycle(&shuffled)];
        // The linter names queues as they are listed.
        for answer in [&mut answer, &mut other] {
            answer["warnings"] = Value::Null;
        }
        prop_assert_eq!(answer, other, "{:#}", document);
    }

    #[test]
    fn every_reason_is_true(seed in any::<u64>()) {
        let mut dice = Dice::seeded(seed);
        let contents = contents(&mut dice, IDLE_ROOM);
        let document = random(&mut dice, contents);
        let answer = cycle(&document);
        for row in list(&answer["waiting"]) {
            if let Some(changed) = without_cause(&apply(&document, &answer), &row) {
                let next = cycle(&changed);
                let still = list(&next["waiting"]).into_iter().find(|other| other["workload_id"] == row["workload_id"]);
                let keys = ["reason", "details", "members", "blocked_by"];
                let is_same = |other: &Value| keys.iter().all(|key| other[key] == row[key]);
                prop_assert!(!still.as_ref().is_some_and(is_same), "{row} in {document:#}, then {next:#}");
            }
        }
    }

    #[test]
    fn nothing_delays_the_reserved_workload(seed in any::<u64>()) {
        let mut dice = Dice::seeded(seed);
        let contents = ClusterContents { backfill: "easy", order: "sequencer", has_mixed: false, has_rules: false, ..contents(&mut dice, IDLE_ROOM) };
        let mut document = random(&mut dice, contents);
        document["queues"] = json!([{"name": "a"}, {"name": "b"}, {"name": "c"}]);
        let answer = cycle(&document);
        let reserved = list(&answer["waiting"]).into_iter().find(|row| !row["reserved_at"].is_null());
        if let Some(row) = reserved {
            let mut later = apply(&document, &answer);
            later["now"] = row["reserved_at"].clone();
            let ended = |workload: &Value| {
                let seconds = workload["expected_seconds"].as_u64();
                let at = |seconds: u64| format!("2026-01-13T10:{:02}:{:02}Z", seconds / 60, seconds % 60);
                seconds.is_some_and(|seconds| at(seconds).as_str() <= row["reserved_at"].as_str().unwrap())
            };
            let left: Vec<Value> = list(&later["running"]).into_iter().filter(|workload| !ended(workload)).collect();
            let first = list(&later["pending"]).into_iter().find(|w| w["workload_id"] == row["workload_id"]).unwrap();
            later["running"] = left.into();
            later["pending"] = json!([first]);
            let then = cycle(&later);
            prop_assert!(!list(&then["starts"]).is_empty(), "{document:#} gives {answer:#} and then {then:#}");
        }
    }
}

/// The state after the cycle without the cause that the row names; `None` where the cause is no single thing.
fn without_cause(after: &Value, row: &Value) -> Option<Value> {
    let mut changed = after.clone();
    match row["reason"].as_str()? {
        "no_room" | "gang" => {
            for agent in changed["agents"].as_array_mut()? {
                agent["available_slots"] = json!({"gpu": 100, "cpu": 100});
            }
            changed["capacity"] = json!({"gpu": 300, "cpu": 300});
        }
        "queue_limit" => {
            let name = &row["details"]["queue"];
            let queue = changed["queues"].as_array_mut()?.iter_mut().find(|queue| queue["name"] == *name)?;
            queue["limit"] = json!({});
        }
        "quota_non_preemptible" => {
            let workload =
                changed["pending"].as_array_mut()?.iter_mut().find(|w| w["workload_id"] == row["workload_id"])?;
            workload["preemptible"] = json!(true);
        }
        "behind" | "reserved" => {
            let ahead = &row["blocked_by"][0];
            changed["pending"].as_array_mut()?.retain(|workload| workload["workload_id"] != *ahead);
        }
        "queue_share" => changed["cycle"]["order"] = json!("sequencer"),
        "predicates" => {
            for agent in changed["agents"].as_array_mut()? {
                agent["schedulable"] = json!(true);
                agent["taints"] = json!([]);
                agent["labels"] = json!({"zone": "x"});
            }
            let workload =
                changed["pending"].as_array_mut()?.iter_mut().find(|w| w["workload_id"] == row["workload_id"])?;
            workload["affinity"] = json!({});
            workload["labels"] = json!({});
            workload["max_per_agent"] = Value::Null;
        }
        "too_large" => {
            for agent in changed["agents"].as_array_mut()? {
                agent["available_slots"] = json!({"gpu": 100, "cpu": 100});
            }
            changed["capacity"] = json!({"gpu": 300, "cpu": 300});
            let waiting = changed["pending"].as_array_mut()?.iter_mut();
            let workload = waiting.into_iter().find(|w| w["workload_id"] == row["workload_id"])?;
            workload["max_per_agent"] = Value::Null;
            for queue in changed["queues"].as_array_mut()? {
                queue["limit"] = json!({});
            }
        }
        _ => return None,
    }
    Some(changed)
}
