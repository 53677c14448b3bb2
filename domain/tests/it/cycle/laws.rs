//! The laws of a cycle on small random clusters (`docs/CYCLE.md`, "Laws").

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::cycle;
use super::world::{ClusterContents, apply, expanded, list, random};
use crate::support::cases;
use crate::support::dice::Dice;

pub const ALL: &[&str] = &["allocate", "backfill", "reclaim", "preempt"];
pub const IDLE_ROOM: &[&str] = &["allocate", "backfill"];

pub fn contents(dice: &mut Dice, actions: &'static [&'static str]) -> ClusterContents {
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

/// True if the queue is `level`, or below it.
fn is_in(document: &Value, queue: &Value, level: &Value) -> bool {
    let parent =
        |name: &Value| list(&document["queues"]).into_iter().find(|q| q["name"] == *name)?.get("parent").cloned();
    std::iter::successors(Some(queue.clone()), parent).any(|name| name == *level)
}

fn evictions_for(answer: &Value, start: &Value) -> Vec<Value> {
    let is_for = |e: &Value| e["for"] == start["workload_id"] && e["action"] == start["action"];
    list(&answer["evictions"]).into_iter().filter(is_for).collect()
}

/// The place of the start by reclaim among whose members the victim is.
fn plan_that_started(answer: &Value, victim: &Value) -> Option<usize> {
    let kernels = list(&victim["kernel_ids"]);
    list(&answer["starts"]).iter().position(|start| {
        let is_here = |member: &Value| {
            let prefix = format!("{}-{}-", start["workload_id"].as_str().unwrap(), member["member"]);
            kernels.iter().any(|kernel| kernel.as_str().unwrap().starts_with(&prefix))
        };
        start["action"] == "reclaim" && list(&start["members"]).iter().any(is_here)
    })
}

const SLOTS: [&str; 2] = ["gpu", "cpu"];

fn sum(members: &[Value]) -> [f64; 2] {
    SLOTS.map(|slot| members.iter().map(|member| amount(&member["slots"][slot])).sum())
}

/// The amounts that a start asks for.
fn amounts_of(pending: &Value, start: &Value) -> [f64; 2] {
    let workload = list(pending).into_iter().find(|w| w["workload_id"] == start["workload_id"]).unwrap();
    let number = |member: &Value| usize::try_from(member["member"].as_u64().unwrap()).unwrap();
    sum(&list(&start["members"]).iter().map(|m| workload["members"][number(m)].clone()).collect::<Vec<_>>())
}

/// The amounts that victims held.
fn amounts_of_unit(document: &Value, eviction: &Value) -> [f64; 2] {
    let kernels = list(&eviction["kernel_ids"]);
    let members = list(&document["running"]).into_iter().flat_map(|workload| list(&workload["members"]));
    sum(&members.filter(|member| kernels.contains(&member["kernel_id"])).collect::<Vec<_>>())
}

fn covers(asked: &[f64; 2], lost: &[f64; 2]) -> bool {
    asked.iter().zip(lost).all(|(asked, lost)| asked >= lost)
}

fn assert_second_cycle_starts_nothing(seed: u64) {
    let mut dice = Dice::seeded(seed);
    let contents = contents(&mut dice, IDLE_ROOM);
    let document = random(&mut dice, contents);
    let answer = cycle(&document);
    let second = cycle(&apply(&document, &answer));
    assert!(list(&second["starts"]).is_empty(), "{document:#} gives {answer:#} and then {second:#}");
}

fn assert_second_cycle_starts_by_evicting(seed: u64) {
    let mut dice = Dice::seeded(seed);
    let contents = contents(&mut dice, ALL);
    let document = random(&mut dice, contents);
    let answer = cycle(&document);
    if list(&answer["evictions"]).is_empty() {
        let second = cycle(&apply(&document, &answer));
        // A plan is minimal, so it needs every victim.
        let needs_what_has_grown = |start: &Value| {
            let has_grown =
                |level: &Value| list(&answer["starts"]).iter().any(|other| is_in(&document, &other["queue"], level));
            evictions_for(&second, start).iter().any(|victim| has_grown(&victim["level"]))
        };
        // Later starts follow from what the first one changed.
        let first = list(&second["starts"]).into_iter().next();
        assert!(first.as_ref().is_none_or(needs_what_has_grown), "{document:#} gives {answer:#} and then {second:#}");
    }
}

fn assert_nothing_is_taken_back(seed: u64) {
    let mut dice = Dice::seeded(seed);
    let contents = ClusterContents { order: "queues", ..contents(&mut dice, ALL) };
    let document = random(&mut dice, contents);
    let answer = cycle(&document);
    let next = apply(&document, &answer);
    let second = cycle(&next);
    let after = list(&second["starts"]);
    for (at, start) in after.iter().enumerate().filter(|(_, start)| start["action"] == "reclaim") {
        let asked = amounts_of(&next["pending"], start);
        for taken in evictions_for(&second, start) {
            let Some(plan) = plan_that_started(&answer, &taken) else { continue };
            let lost: Vec<Value> = evictions_for(&answer, &list(&answer["starts"])[plan])
                .into_iter()
                .filter(|e| e["queue"] == start["queue"])
                .collect();
            let is_as_much = lost.iter().any(|unit| covers(&asked, &amounts_of_unit(&document, unit)));
            let since = [&list(&answer["starts"])[plan + 1..], &after[..at]].concat();
            let has_grown = since.iter().any(|other| is_in(&document, &other["queue"], &taken["level"]));
            let loses_more = since
                .iter()
                .flat_map(|other| [evictions_for(&answer, other), evictions_for(&second, other)].concat())
                .any(|e| e["queue"] == start["queue"]);
            assert!(!is_as_much || has_grown || loses_more, "{document:#} gives {answer:#} and then {second:#}");
        }
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
        assert_second_cycle_starts_nothing(seed);
    }

    #[test]
    fn a_second_cycle_starts_nothing_but_by_evicting_where_the_first_started(seed in any::<u64>()) {
        assert_second_cycle_starts_by_evicting(seed);
    }

    #[test]
    fn no_queue_takes_back_what_a_plan_took_from_it(seed in any::<u64>()) {
        assert_nothing_is_taken_back(seed);
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
        let document = random(&mut dice, contents);
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
pub fn without_cause(after: &Value, row: &Value) -> Option<Value> {
    let mut changed = after.clone();
    match row["reason"].as_str()? {
        "no_room" | "gang" | "reclaim_refused" => {
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
        "depth" => changed["cycle"]["depth"] = Value::Null,
        "budget" => changed["cycle"]["search_budget_ms"] = json!(10_000),
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

/// Surplus and starts behind others let something else start, or changed the reason why something blocks.
#[test]
fn second_cycles_that_once_started_more_start_nothing() {
    for seed in [
        959_772_656_469_365_926,
        12_696_782_405_972_376_700,
        13_268_497_000_812_705_434,
        17_246_982_822_537_142_587,
        18_092_782_630_159_006_784,
    ] {
        assert_second_cycle_starts_nothing(seed);
    }
    for seed in [
        10_216_353_894_585_934_255,
        14_933_086_688_356_313_654,
        3_883_154_794_266_682_568,
        1_596_919_211_957_325_818,
        5_059_297_988_887_367_469,
    ] {
        assert_second_cycle_starts_by_evicting(seed);
    }
    for seed in
        [10_614_814_386_645_016_678, 15_153_099_074_026_217_657, 6_901_201_928_534_333_881, 5_026_596_594_467_541_305]
    {
        assert_nothing_is_taken_back(seed);
    }
}

/// Two queues got room from `c` by reclaim, and each could be named in the refusal of the next plan.
#[test]
fn the_order_of_queues_does_not_choose_the_refusal() {
    let mut dice = Dice::seeded(7_988_841_278_927_287_862);
    let contents = contents(&mut dice, ALL);
    let mut document = random(&mut dice, contents);
    let mut answers = Vec::new();
    for _ in 0..2 {
        let mut answer = cycle(&document);
        answer["warnings"] = Value::Null;
        answers.push(answer);
        document["queues"].as_array_mut().unwrap().reverse();
    }
    assert_eq!(answers[0], answers[1]);
}
