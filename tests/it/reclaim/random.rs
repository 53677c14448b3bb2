//! Random clusters of whole amounts.

#![allow(clippy::cast_possible_truncation, reason = "small numbers from dice")]

use std::collections::HashSet;

use serde_json::{Value, json};

use super::support::Case;
use crate::support::dice::Dice;

const SLOTS: [&str; 3] = ["cpu", "gpu", "mem"];

/// A cluster of at most three levels that is nearly full.
pub fn random(seed: u64) -> Case {
    cluster(&mut Dice::seeded(seed), 14)
}

/// [`random`] with a few workloads.
pub fn small(seed: u64) -> Case {
    cluster(&mut Dice::seeded(seed), 6)
}

fn cluster(dice: &mut Dice, most: u64) -> Case {
    let width = 1 + dice.roll(3) as usize;
    let queues = random_queues(dice, width);
    let agents = dice.one_in(2).then(|| 1 + dice.roll(4));
    let (mut used, mut on) = ([0; 3], vec![[0; 3]; agents.unwrap_or(0) as usize]);
    let mut running = Vec::new();
    for n in 0..=dice.roll(most - 1) {
        let mut workload = random_workload(dice, n, width, &queues);
        for member in workload["members"].as_array_mut().unwrap() {
            let at = agents.map(|count| dice.roll(count));
            member["agent_id"] = json!(at.map(|a| format!("n{a}")));
            for column in 0..width {
                let amount = member["slots"][SLOTS[column]].as_u64().unwrap_or(0);
                used[column] += amount;
                if let Some(a) = at {
                    on[a as usize][column] += amount;
                }
            }
        }
        running.push(workload);
    }
    let nodes: Vec<Value> = on.iter().enumerate().map(|(at, held)| random_agent(dice, at, &held[..width])).collect();
    let mut case = json!({
        "capacity": with_slack(dice, &used[..width]), "queues": queues, "running": running,
        "pending": random_pending(dice, width, &queues, agents.is_some()),
        "options": random_options(dice),
    });
    if agents.is_some() {
        case["agents"] = json!(nodes);
    }
    if !dice.one_in(4) {
        case["shares"] = random_shares(dice, &case, width);
    }
    Case::new(&case)
}

/// A random queue, mostly a leaf.
fn random_queue<'a>(dice: &mut Dice, queues: &'a [Value]) -> &'a str {
    let parents: HashSet<&str> = queues.iter().filter_map(|q| q["parent"].as_str()).collect();
    let any = dice.one_in(8);
    let names = queues.iter().filter_map(|q| q["name"].as_str());
    let names: Vec<&str> = names.filter(|name| any || !parents.contains(name)).collect();
    names[dice.roll(names.len() as u64) as usize]
}

fn random_workload(dice: &mut Dice, n: u64, width: usize, queues: &[Value]) -> Value {
    let queue = random_queue(dice, queues);
    let (alike, differ) = (random_slots(dice, width, 3), dice.one_in(4));
    let count = 1 + dice.roll(4);
    let member = |m| {
        let slots = if differ { random_slots(dice, width, 3) } else { alike.clone() };
        json!({"kernel_id": format!("w{n}/{m}"), "slots": slots})
    };
    let members: Vec<Value> = (0..count).map(member).collect();
    json!({
        "workload_id": format!("w{n}"), "queue": queue, "priority": dice.roll(3), "preemptible": !dice.one_in(8),
        "critical": dice.one_in(12), "gang_min": dice.one_in(2).then(|| 1 + dice.roll(3)), "members": members,
        "created_at": format!("2026-01-10T00:0{}:00Z", dice.roll(4)),
        "started_at": format!("2026-01-10T11:{}0:00Z", dice.roll(6)),
    })
}

/// The used amounts, some with one more.
fn with_slack(dice: &mut Dice, used: &[u64]) -> Value {
    let mut slots = json!({});
    used.iter().zip(SLOTS).for_each(|(used, slot)| slots[slot] = json!(used + dice.roll(4) / 3));
    slots
}

fn random_agent(dice: &mut Dice, at: usize, held: &[u64]) -> Value {
    json!({
        "agent_id": format!("n{at}"), "available_slots": with_slack(dice, held), "schedulable": !dice.one_in(9),
        "labels": {"rack": format!("r{}", dice.roll(2))},
    })
}

/// Up to three members, sometimes of two kinds, if there are agents.
fn random_pending(dice: &mut Dice, width: usize, queues: &[Value], agents: bool) -> Value {
    let queue = random_queue(dice, queues);
    let (slots, other) = (random_slots(dice, width, 4), random_slots(dice, width, 3));
    let (differ, rack) = (dice.one_in(2), dice.one_in(6).then(|| json!({"rack": "r1"})));
    let count = if agents { 1 + dice.roll(3) } else { 1 };
    let member = |m| {
        let slots = if differ && m == 1 { &other } else { &slots };
        json!({"slots": slots, "labels": rack.clone().filter(|_| m == 0).unwrap_or(json!({}))})
    };
    json!({
        "workload_id": "new", "queue": queue, "members": (0..count).map(member).collect::<Vec<_>>(),
        "priority": dice.roll(3), "preemptible": !dice.one_in(10),
    })
}

/// Up to three levels; parents often have no quota, or less than their children have together.
fn random_queues(dice: &mut Dice, width: usize) -> Vec<Value> {
    let mut queues: Vec<Value> = Vec::new();
    let mut levels: Vec<usize> = Vec::new();
    for n in 0..2 + dice.roll(7) {
        let upper: Vec<usize> = (0..queues.len()).filter(|q| levels[*q] < 2).collect();
        let parent = (n > 1 && !dice.one_in(4)).then(|| upper[dice.roll(upper.len() as u64) as usize]);
        levels.push(parent.map_or(0, |p| levels[p] + 1));
        let quota = if dice.one_in(if levels[queues.len()] == 0 { 2 } else { 6 }) {
            json!({})
        } else {
            random_slots(dice, width, 5)
        };
        let mut queue = json!({
            "name": format!("q{n}"), "parent": parent.map(|p| format!("q{p}")), "priority": dice.roll(2),
            "over_quota_weight": dice.roll(4), "reclaimable": !dice.one_in(10), "quota": quota,
        });
        if dice.one_in(12) {
            queue["quota"][SLOTS[0]] = json!("unlimited");
        }
        if dice.one_in(8) {
            queue["limit"] = random_slots(dice, width, 9);
        }
        if dice.one_in(5) {
            queue["reclaim_min_runtime"] = json!(dice.roll(4000));
            queue["preempt_min_runtime"] = json!(dice.roll(4000));
        }
        queues.push(queue);
    }
    queues
}

/// Shares that do not come from a division: the pending workload's queue has enough, the others have little or nothing.
fn random_shares(dice: &mut Dice, case: &Value, width: usize) -> Value {
    let mut shares = json!({});
    for queue in case["queues"].as_array().unwrap() {
        let name = queue["name"].as_str().unwrap();
        let own = case["pending"]["queue"] == name;
        let mut share = json!({});
        for slot in &SLOTS[..width] {
            share[*slot] = json!(if own { 15 + dice.roll(20) } else { dice.roll(8) });
        }
        shares[name] = share;
    }
    shares
}

fn random_slots(dice: &mut Dice, width: usize, most: u64) -> Value {
    let mut slots = json!({});
    for name in &SLOTS[..width] {
        if !dice.one_in(4) {
            slots[*name] = json!(dice.roll(most + 1));
        }
    }
    slots
}

fn random_options(dice: &mut Dice) -> Value {
    match dice.roll(8) {
        0 => json!({"strategies": ["fair_share"]}),
        1 => json!({"strategies": ["quota"]}),
        2 => json!({"reclaimer_utilization_multiplier": "1.3"}),
        _ => json!({}),
    }
}
