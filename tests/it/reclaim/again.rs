//! The cluster after a plan, from the side of the queues that lost something.

use std::collections::HashSet;

use fairshared::domain::reclaim::{PendingGang, ReclaimPlan, RunningMember, RunningWorkload, Victim};
use serde_json::{Value, json};

use super::support::Case;

/// The cluster after the plan, once for each workload that lost something and asks for it again; if it lost members one by
/// one, also once for each of them.
pub fn after(case: &Case, plan: &ReclaimPlan) -> Vec<(String, Case)> {
    let gone: HashSet<&str> = plan.victims.iter().flat_map(|v| v.kernel_ids.iter().map(|k| &**k)).collect();
    let mut next = case.clone();
    for workload in &mut next.running {
        workload.members.retain(|m| !gone.contains(&*m.kernel_id));
    }
    next.running.retain(|w| !w.members.is_empty());
    next.running.push(started(case, plan));
    let mut losers: Vec<&RunningWorkload> = Vec::new();
    for workload in &case.running {
        if workload.members.iter().any(|m| gone.contains(&*m.kernel_id)) {
            losers.push(workload);
        }
    }
    let back = |loser: &RunningWorkload, wanted: &[&RunningMember]| {
        let members: Vec<Value> = wanted.iter().map(|m| json!({"slots": m.slots})).collect();
        let mut after = next.clone();
        // The demand of all else that was lost stays.
        for other in &losers {
            let wants = |m: &RunningMember| wanted.iter().any(|w| w.kernel_id == m.kernel_id);
            let rest = other.members.iter().filter(|m| gone.contains(&*m.kernel_id) && !wants(m));
            add_demand(&mut after, &other.queue, &rest.collect::<Vec<_>>());
        }
        after.pending = serde_json::from_value::<PendingGang>(json!({
            "workload_id": loser.workload_id, "queue": loser.queue, "priority": loser.priority,
            "preemptible": loser.preemptible, "members": members,
        }))
        .unwrap();
        (loser.workload_id.to_string(), after)
    };
    let mut cases = Vec::new();
    for loser in &losers {
        let lost: Vec<&RunningMember> = loser.members.iter().filter(|m| gone.contains(&*m.kernel_id)).collect();
        cases.push(back(loser, &lost));
        let parts: Vec<&Victim> = plan.victims.iter().filter(|v| v.workload_id == loser.workload_id).collect();
        for part in parts.iter().filter(|_| parts.len() > 1) {
            let members: Vec<&RunningMember> =
                lost.iter().copied().filter(|m| part.kernel_ids.contains(&m.kernel_id)).collect();
            cases.push(back(loser, &members));
        }
    }
    cases
}

fn started(case: &Case, plan: &ReclaimPlan) -> RunningWorkload {
    let pending = &case.pending;
    let agent =
        |at: usize| plan.placement.as_ref().and_then(|p| p.iter().find(|p| p.member == at)).map(|p| &*p.agent_id);
    let members: Vec<Value> = pending
        .members
        .iter()
        .enumerate()
        .map(|(at, m)| json!({"kernel_id": format!("new/{at}"), "slots": m.slots, "agent_id": agent(at)}))
        .collect();
    serde_json::from_value(json!({
        "workload_id": "new", "queue": pending.queue, "priority": pending.priority, "members": members,
        "preemptible": pending.preemptible,
    }))
    .unwrap()
}

/// Demand that is neither running nor planned for.
fn add_demand(case: &mut Case, queue: &str, members: &[&RunningMember]) {
    let tree = case.tree();
    let at = tree.find(queue).unwrap();
    let mut request = tree.amounts(tree.request.row(at));
    for m in members {
        request.add(&m.slots);
    }
    let spec = case.queues.iter_mut().find(|q| q.config.name == queue).unwrap();
    spec.given.request = Some(request);
}
