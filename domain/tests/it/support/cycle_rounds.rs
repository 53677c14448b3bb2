//! Compares every round of a replay with a cycle over the same state.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::rules::cycle::{BackfillMode, CycleSimulation};
use crate::rules::replay::history::ReplayHistory;
use crate::rules::replay::policy::ReplayPolicy;
use crate::rules::replay::run_round;
use crate::rules::replay::schedulers::ReplayScheduler;
use crate::rules::replay::simulation::{ReplaySimulation, RuntimeEstimates, SchedulerRound};
use crate::rules::slots::SlotAmounts;
use crate::rules::time::Timestamp;

/// A replay of which every round was compared.
#[derive(Debug, Default)]
pub struct ComparedReplay {
    /// Rounds in which jobs waited, before the scheduler had its turn.
    pub rounds: usize,
    /// Rounds in which some jobs started and others went on waiting.
    pub divided: usize,
    /// Rounds in which a job started behind one that waits.
    pub overtaken: usize,
    /// Rounds in which a job kept a reservation.
    pub reserved: usize,
    /// Rounds with jobs that were too large for what the cluster offered.
    pub too_large: usize,
    /// The earliest time that was reserved for each job.
    pub reservations: BTreeMap<u32, Timestamp>,
    /// The start of each job.
    pub starts: Vec<Option<Timestamp>>,
}

/// The state before a round, as a request of a cycle, and the jobs that wait in order.
struct RoundState {
    request: Value,
    order: Vec<u32>,
}

/// Replays a history, and fails unless every round starts the jobs that a cycle over the same state starts, in the same order.
pub fn compare_rounds(
    history: &ReplayHistory,
    policy: &ReplayPolicy,
    scheduler: &dyn ReplayScheduler,
    estimates: RuntimeEstimates,
) -> ComparedReplay {
    let mut simulation = ReplaySimulation::new(history, policy, estimates).expect("a history with jobs");
    let mut compared = ComparedReplay::default();
    while let Some(now) = simulation.advance_to_next_event() {
        let (waiting, _) = simulation.find_waiting(0);
        let state = observe(&mut simulation.round(), history, &waiting, now, scheduler.backfill());
        let starts = run_round(&mut simulation, scheduler);
        if waiting.is_empty() {
            assert!(starts.is_empty());
            continue;
        }
        let answer = run_cycle(&state.request);
        let moment = format!("at {now} under {} with {}", policy.name, scheduler.name());
        assert_same_starts(&state, &starts, &answer, &moment);
        assert_room(&mut simulation.round(), history, &starts);
        let rows = answer["waiting"].as_array().expect("rows");
        let is_too_large = |row: &&Value| row["reason"] == "too_large";
        let too_large: BTreeSet<u32> = rows.iter().filter(is_too_large).map(job_of).collect();
        let unordered: BTreeSet<u32> = waiting.iter().copied().filter(|job| !state.order.contains(job)).collect();
        assert_eq!(too_large, unordered, "at {now}: {:#}", state.request);
        compared.rounds += 1;
        compared.divided += usize::from(!starts.is_empty() && starts.len() < state.order.len());
        compared.too_large += usize::from(!too_large.is_empty());
        let is_first = starts == state.order[..starts.len()];
        compared.overtaken += usize::from(!is_first && starts.len() < state.order.len());
        for row in rows.iter().filter(|row| row["reserved_at"].is_string()) {
            let at: Timestamp = row["reserved_at"].as_str().expect("a time").parse().expect("a time");
            let earliest = compared.reservations.entry(job_of(row)).or_insert(at);
            *earliest = at.min(*earliest);
            compared.reserved += 1;
        }
    }
    ComparedReplay { starts: simulation.into_starts(), ..compared }
}

fn observe(
    round: &mut SchedulerRound,
    history: &ReplayHistory,
    waiting: &[u32],
    now: Timestamp,
    backfill: BackfillMode,
) -> RoundState {
    let offered = round.offered().clone();
    let order = round.order();
    let job_of = |number: u32| &history.jobs[number as usize];
    // A slot that the cluster does not offer does not count.
    let slots = |number: u32| -> SlotAmounts {
        history.size(job_of(number)).iter().filter(|(slot, _)| offered.get(*slot).is_some()).collect()
    };
    let running: Vec<(u32, Timestamp)> = round.running().collect();
    let running: Vec<Value> = running
        .into_iter()
        .map(|(job, started_at)| {
            json!({"workload_id": job.to_string(), "queue": "all", "started_at": started_at,
                "expected_seconds": round.expected_seconds(job),
                "members": [{"kernel_id": job.to_string(), "slots": slots(job)}]})
        })
        .collect();
    let mut workload = |job: u32, position: Option<usize>| {
        json!({"workload_id": job.to_string(), "queue": "all", "position": position,
            "expected_seconds": round.expected_seconds(job), "members": [{"slots": slots(job)}]})
    };
    let mut pending: Vec<Value> = order.iter().zip(1..).map(|(job, place)| workload(*job, Some(place))).collect();
    pending.extend(waiting.iter().filter(|job| !order.contains(job)).map(|job| workload(*job, None)));
    let backfill = match backfill {
        BackfillMode::Nothing => "none",
        BackfillMode::Skip => "skip",
        BackfillMode::Easy => "easy",
    };
    let request = json!({"algorithm": "quota_over_quota", "capacity": offered, "queues": [{"name": "all"}], "now": now,
        "running": running, "pending": pending,
        "cycle": {"actions": ["allocate", "backfill"], "order": "sequencer", "backfill": backfill}});
    RoundState { request, order }
}

fn run_cycle(request: &Value) -> Value {
    let simulation: CycleSimulation = serde_json::from_value(request.clone()).expect("a request that can be read");
    let answer = simulation.run(Timestamp::EPOCH).expect("a request without faults");
    serde_json::to_value(answer).expect("an answer is JSON")
}

fn job_of(row: &Value) -> u32 {
    row["workload_id"].as_str().expect("an id").parse().expect("a number")
}

fn assert_same_starts(state: &RoundState, starts: &[u32], answer: &Value, moment: &str) {
    let of_cycle: Vec<u32> = answer["starts"].as_array().expect("starts").iter().map(job_of).collect();
    let mut starts = starts.to_vec();
    if starts.len() == state.order.len() {
        // Where there is room for all, a replay does not ask for the order.
        let place = |job: &u32| state.order.iter().position(|other| other == job);
        starts.sort_by_key(place);
    }
    assert_eq!(starts, of_cycle, "the replay and then the cycle, {moment}, of {:?} in {}", state.order, state.request);
}

/// No start takes a slot of which the cluster has less.
fn assert_room(round: &mut SchedulerRound, history: &ReplayHistory, starts: &[u32]) {
    let mut taken = SlotAmounts::default();
    for (job, _) in round.running() {
        taken.add(history.size(&history.jobs[job as usize]));
    }
    for (slot, asked) in starts.iter().flat_map(|job| history.size(&history.jobs[*job as usize]).iter()) {
        if let Some(offered) = round.offered().get(slot).filter(|_| !asked.is_zero()) {
            assert!(taken.get(slot).is_some_and(|taken| taken <= offered), "{slot}: {taken:?} of {offered}");
        }
    }
}
