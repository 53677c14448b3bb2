//! Random clusters of whole amounts.

#![allow(clippy::cast_possible_truncation, reason = "small numbers from dice")]

use std::collections::HashSet;

use serde_json::{Value, json};

use super::support::Case;

struct Dice(u64);

impl Dice {
    /// splitmix64
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == 0
    }
}

const SLOTS: [&str; 3] = ["cpu", "gpu", "mem"];

/// A cluster of at most three levels that is nearly full.
pub fn random(seed: u64) -> Case {
    let mut dice = Dice(seed);
    let width = 1 + dice.roll(3) as usize;
    let queues = random_queues(&mut dice, width);
    let agents = dice.one_in(2).then(|| 1 + dice.roll(4) as usize);
    let names: Vec<String> = queues.iter().map(|q| q["name"].as_str().unwrap().to_owned()).collect();
    let parents: HashSet<&str> = queues.iter().filter_map(|q| q["parent"].as_str()).collect();
    let leaves: Vec<&String> = names.iter().filter(|n| !parents.contains(n.as_str())).collect();
    let (mut used, mut on) = ([0u64; 3], vec![[0u64; 3]; agents.unwrap_or(0)]);
    let mut running = Vec::new();
    for n in 0..=dice.roll(13) {
        let slots = random_slots(&mut dice, width, 3);
        let members: Vec<Value> = (0..=dice.roll(3))
            .map(|m| {
                let at = agents.map(|count| dice.roll(count as u64) as usize);
                for column in 0..width {
                    let amount = slots[SLOTS[column]].as_u64().unwrap_or(0);
                    used[column] += amount;
                    if let Some(a) = at {
                        on[a][column] += amount;
                    }
                }
                json!({"kernel_id": format!("w{n}/{m}"), "slots": slots, "agent_id": at.map(|a| format!("n{a}"))})
            })
            .collect();
        let gang = dice.one_in(2).then(|| 1 + dice.roll(3));
        running.push(json!({
            "workload_id": format!("w{n}"), "queue": leaves[dice.roll(leaves.len() as u64) as usize],
            "priority": dice.roll(3), "preemptible": !dice.one_in(8), "critical": dice.one_in(12), "gang_min": gang,
            "created_at": format!("2026-01-10T00:0{}:00Z", dice.roll(4)), "members": members,
            "started_at": format!("2026-01-10T11:{}0:00Z", dice.roll(6)),
        }));
    }
    let slots = random_slots(&mut dice, width, 4);
    let count = if agents.is_some() { 1 + dice.roll(3) } else { 1 };
    let members: Vec<Value> = (0..count).map(|_| json!({"slots": slots})).collect();
    let mut capacity = json!({});
    (0..width).for_each(|c| capacity[SLOTS[c]] = json!(used[c] + dice.roll(4) / 3));
    let nodes: Option<Vec<Value>> = agents.map(|_| {
        let node = |(at, held): (usize, &[u64; 3])| {
            let mut slots = json!({});
            (0..width).for_each(|c| slots[SLOTS[c]] = json!(held[c] + dice.roll(4) / 3));
            json!({"agent_id": format!("n{at}"), "available_slots": slots, "schedulable": !dice.one_in(9)})
        };
        on.iter().enumerate().map(node).collect()
    });
    let mut case = json!({
        "capacity": capacity, "queues": queues, "running": running, "agents": nodes,
        "pending": {"workload_id": "new", "queue": leaves[dice.roll(leaves.len() as u64) as usize], "members": members,
                    "priority": dice.roll(3), "preemptible": !dice.one_in(10)},
        "options": random_options(&mut dice),
    });
    if !dice.one_in(3) {
        case["shares"] = random_shares(&mut dice, &case, width);
    }
    if case["agents"].is_null() {
        case.as_object_mut().unwrap().remove("agents");
    }
    Case::new(&case)
}

/// Up to three levels; parents often have no quota, or less than their children have together.
fn random_queues(dice: &mut Dice, width: usize) -> Vec<Value> {
    let mut queues: Vec<Value> = Vec::new();
    let mut levels: Vec<usize> = Vec::new();
    for n in 0..2 + dice.roll(7) {
        let upper: Vec<usize> = (0..queues.len()).filter(|q| levels[*q] < 2).collect();
        let parent = (n > 1 && !dice.one_in(4)).then(|| upper[dice.roll(upper.len() as u64) as usize]);
        levels.push(parent.map_or(0, |p| levels[p] + 1));
        let quota = if dice.one_in(if levels[queues.len()] == 0 { 2 } else { 5 }) {
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

/// Shares of no division: the pending workload's queue has enough, the others have little or nothing.
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
        _ => json!({}),
    }
}
