//! The answer of the second engine, with the keys that tests compare.

use serde_json::{Value, json};

use super::cluster::{OccupiedSeat, SLOTS};
use super::placement::{PREDICATES, RefusedAgents, UnplacedMembers, WantedPlaces};
use super::rounds::{NaiveCycle, NaiveReason};

/// `starts` and `waiting` of a cycle, without the queues of workloads. What can never start has only the scope in its details.
pub fn naive_answer(document: &Value) -> Value {
    let cycle = NaiveCycle::run(document);
    let waits = |workload: &usize| cycle.count_waiting(*workload) > 0;
    let mut waiting: Vec<usize> = (0..cycle.started.len()).filter(waits).collect();
    waiting.sort_by_key(|workload| {
        let position = cycle.position(*workload);
        (position.is_none(), position, cycle.cluster.workloads[*workload].id.clone())
    });
    json!({"starts": cycle.starts, "waiting": waiting.into_iter().map(|workload| row(&cycle, workload)).collect::<Vec<_>>()})
}

fn time(seconds: i64) -> String {
    format!("2026-01-13T10:{:02}:{:02}Z", seconds / 60, seconds % 60)
}

fn row(cycle: &NaiveCycle, workload: usize) -> Value {
    let waiting = &cycle.cluster.workloads[workload];
    let (reason, details, blocked_by) = match cycle.never[workload] {
        Some("predicates") => ("predicates", Value::Null, None),
        Some(scope) => ("too_large", json!({"scope": scope}), None),
        None => final_reason(cycle, workload),
    };
    let id = |workload: usize| cycle.cluster.workloads[workload].id.clone();
    let mut row = json!({"workload_id": waiting.id, "position": cycle.position(workload), "members": cycle.count_waiting(workload),
        "started": cycle.missing(workload) == 0, "reason": reason, "details": details,
        "blocked_by": blocked_by.map(id).into_iter().collect::<Vec<_>>()});
    if let Some((_, at)) = cycle.reserved.filter(|(by, _)| *by == workload) {
        row["reserved_at"] = time(at).into();
    }
    row
}

/// The reason in the final state, with its details and the workload that is in the way.
fn final_reason(cycle: &NaiveCycle, workload: usize) -> (&'static str, Value, Option<usize>) {
    let waiting = &cycle.cluster.workloads[workload];
    let noted = cycle.reasons[workload].clone().expect("what waits has a reason");
    let number = cycle.missing(workload).max(1);
    let mut reason = noted.clone();
    let mut unplaced = None;
    if !matches!(noted, NaiveReason::Behind(_)) {
        let members = cycle.unstarted(workload);
        let wanted = WantedPlaces {
            workload: waiting,
            members: &members,
            number,
            tries_sizes: true,
            lasting: false,
            leaves: None,
        };
        if let Some(bound) = cycle.cluster.bound(&cycle.seats, waiting, cycle.need(workload)) {
            reason = bound;
        } else if let Err(failed) = cycle.cluster.place(&cycle.seats, wanted) {
            reason = NaiveReason::of(&failed, number);
            unplaced = Some(failed);
        }
    }
    describe(cycle, workload, reason, unplaced.as_ref())
}

fn describe(
    cycle: &NaiveCycle,
    workload: usize,
    reason: NaiveReason,
    unplaced: Option<&UnplacedMembers>,
) -> (&'static str, Value, Option<usize>) {
    let cluster = &cycle.cluster;
    let held = |queue: &str, slot: usize, lasting: bool| cluster.held(&cycle.seats, queue, lasting)[slot].to_string();
    match reason {
        NaiveReason::NoRoom => {
            ("no_room", scarcest(cycle, workload, unplaced.map_or(0, |unplaced| unplaced.skipped)), None)
        }
        NaiveReason::Gang => {
            let fit = unplaced.map_or(0, |unplaced| unplaced.fit);
            ("gang", json!({"fit": fit, "minimum": cycle.missing(workload)}), None)
        }
        NaiveReason::Predicates => {
            let refused = unplaced.and_then(|unplaced| unplaced.refused).unwrap_or_default();
            ("predicates", refused_agents(&refused, cluster.nodes.len()), None)
        }
        NaiveReason::Limit { queue, slot } => {
            let limit = cluster.queues[&queue].limit[slot].expect("a limit").to_string();
            let details =
                json!({"queue": queue, "slot": SLOTS[slot], "limit": limit, "held": held(&queue, slot, false)});
            ("queue_limit", details, None)
        }
        NaiveReason::Quota { queue, slot } => {
            let quota = cluster.queues[&queue].quota[slot].to_string();
            let details =
                json!({"queue": queue, "slot": SLOTS[slot], "quota": quota, "held": held(&queue, slot, true)});
            ("quota_non_preemptible", details, None)
        }
        NaiveReason::Behind(blocker) => ("behind", json!({}), Some(blocker)),
        NaiveReason::Reserved { by, until } => ("reserved", json!({"until": time(until)}), Some(by)),
    }
}

fn refused_agents(refused: &RefusedAgents, agents: usize) -> Value {
    let counts = PREDICATES.iter().zip(refused).filter(|(_, count)| **count > 0);
    let counts: serde_json::Map<String, Value> =
        counts.map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
    json!({"refused": counts, "agents": agents})
}

/// The slot of which the agents that pass have least for the member.
fn scarcest(cycle: &NaiveCycle, workload: usize, place: usize) -> Value {
    let (cluster, waiting) = (&cycle.cluster, &cycle.cluster.workloads[workload]);
    let member = &waiting.members[place];
    let passes = |agent: &usize| cluster.refusing(&cycle.seats, waiting, member, *agent, false).is_none();
    let agents: Vec<usize> = (0..cluster.nodes.len()).filter(passes).collect();
    let free = |slot: usize, seats: &[OccupiedSeat]| -> Vec<i64> {
        agents.iter().map(|agent| cluster.free(seats, *agent)[slot].max(0)).collect()
    };
    let most = |slot: usize| free(slot, &cycle.seats).into_iter().max().unwrap_or(0);
    // asked / most, where something over nothing is more than any number.
    let is_scarcer = |one: usize, other: usize| match (most(one), most(other)) {
        (_, 0) => false,
        (0, _) => true,
        (of_one, of_other) => member.slots[one] * of_other > member.slots[other] * of_one,
    };
    let asked: Vec<usize> = (0..SLOTS.len()).filter(|slot| member.slots[*slot] > 0).collect();
    let scarcest = asked.into_iter().reduce(|first, next| if is_scarcer(next, first) { next } else { first });
    let slot = scarcest.expect("a member that waits for room asks for something");
    json!({"slot": SLOTS[slot], "asked": member.slots[slot].to_string(), "most_free": most(slot).to_string(),
        "free": free(slot, &cycle.seats).into_iter().sum::<i64>().to_string()})
}
