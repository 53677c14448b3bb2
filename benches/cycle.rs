//! Scheduling cycles over a large snapshot, and the reasons that users see of the newest cycle of their group.

use std::collections::BTreeMap;
use std::time::Duration;

use fairshared::domain::cycle::{
    CycleAgent, CycleOptions, CyclePending, CycleRunning, CycleSimulation, MemberTemplate, PendingList, WorkloadOwner,
};
use fairshared::domain::placement_rules::Affinity;
use fairshared::domain::queues::{Bound, QueueConfig, QueueSpec};
use fairshared::domain::reclaim::{ReclaimOptions, RunningMember};
use fairshared::domain::time::Timestamp;

use serde_json::{Value, json};

use crate::common::figure::{Bar, Bench, FRESH, Figure, MEMORY, On, Unit};
use crate::common::http::Server;
use crate::common::{grown, median, on_each, roll, slots, timed, world};
use crate::support::dice::Dice;

pub const BENCH: Bench =
    Bench { name: "cycle", figures: &[&SKIP, &EASY, &QUEUE_ORDER, &MANY, &EVICTING, &REASONS], run };

const fn cycle(name: &'static str, bars: &'static [Bar]) -> Figure {
    Figure { name, floor: "", unit: Unit::Time, bars, on: MEMORY }
}

const BAR: &[Bar] = &[Bar::Most(0.25)];
static SKIP: Figure =
    cycle("allocate and backfill (`skip`) of 10,000 workloads, 5,000 agents, 50,000 kernels, 2,000 queues", BAR);
static EASY: Figure = cycle("the same with `easy`", BAR);
static QUEUE_ORDER: Figure = cycle("the same in the order of queues", BAR);
static MANY: Figure = cycle("the same of 320,000 workloads (`skip`)", &[Bar::Most(1.3)]);
static EVICTING: Figure = cycle(
    "all actions in the order of queues, 10,000 workloads; its bar is the search budget more",
    &[Bar::Most(1.25)],
);

static REASONS: Figure = Figure {
    name: "1,000 of 10,000 waiting workloads with their reasons, over HTTP",
    floor: "",
    unit: Unit::Time,
    bars: &[Bar::Most(0.05)],
    on: FRESH,
};

const AGENTS: usize = 5_000;
const KERNELS_OF_AGENT: usize = 10;
const QUEUES: usize = 2_000;
const PARENTS: usize = 40;
const NOW: i64 = 1_768_000_000;
const TIMES: usize = 5;
const USERS: usize = 10_000;
const READS: usize = 50;

fn queues() -> Vec<QueueSpec> {
    let spec = |at: usize| {
        let parent = (at >= PARENTS).then(|| format!("q{}", at % PARENTS));
        let quota = if at < PARENTS { slots(1_000, 500) } else { slots(20, 10) };
        QueueConfig { parent, quota: quota.map(Bound::Limited), ..QueueConfig::named(format!("q{at}")) }.into()
    };
    (0..QUEUES).map(spec).collect()
}

fn any_queue(dice: &mut Dice) -> String {
    format!("q{}", PARENTS + roll(dice, QUEUES - PARENTS))
}

/// Kernels that leave no gpu free on nine agents of ten, and one on each of the others.
fn running(dice: &mut Dice) -> Vec<CycleRunning> {
    let workload = |at: usize| {
        let agent = at / KERNELS_OF_AGENT;
        let hour = i64::try_from(dice.roll(3_600)).unwrap_or(0);
        let leaves_gpu = agent.is_multiple_of(10) && at.is_multiple_of(KERNELS_OF_AGENT);
        CycleRunning {
            workload_id: format!("r{at}").into(),
            queue: Some(any_queue(dice).into()),
            owner: WorkloadOwner::default(),
            priority: i32::try_from(dice.roll(3)).unwrap_or(0),
            preemptible: dice.roll(10) > 0,
            critical: false,
            created_at: None,
            started_at: Some(Timestamp::from_seconds(NOW - hour)),
            expected_seconds: Some(3_600 + hour),
            gang_min: None,
            labels: BTreeMap::new(),
            affinity: Affinity::default(),
            members: vec![RunningMember {
                kernel_id: format!("k{at}").into(),
                slots: slots(4, u64::from(!leaves_gpu)),
                agent_id: Some(format!("node-{agent}").into()),
            }],
        }
    };
    (0..AGENTS * KERNELS_OF_AGENT).map(workload).collect()
}

/// Workloads of one member to eight, with one gpu to eight for each, in the order of their ids.
fn pending(dice: &mut Dice, count: usize) -> PendingList {
    let workload = |at: usize| {
        let (members, gpus) = [(1, 1), (1, 1), (1, 2), (1, 4), (1, 8), (2, 4), (4, 1), (8, 1)][roll(dice, 8)];
        CyclePending {
            workload_id: format!("w{at}").into(),
            queue: Some(any_queue(dice).into()),
            owner: WorkloadOwner::default(),
            priority: i32::try_from(dice.roll(3)).unwrap_or(0),
            preemptible: true,
            submitted_at: None,
            expected_seconds: Some(600 << dice.roll(8)),
            position: i64::try_from(at).ok(),
            gang_min: None,
            parallel_limit: None,
            labels: BTreeMap::new(),
            tolerations: Vec::new(),
            affinity: Affinity::default(),
            max_per_agent: None,
            members: vec![MemberTemplate {
                slots: slots(4 * gpus, gpus),
                count: members,
                priority: 0,
                labels: BTreeMap::new(),
            }],
        }
    };
    PendingList::from((0..count).map(workload).collect::<Vec<_>>())
}

fn simulation(workloads: usize, cycle: CycleOptions) -> CycleSimulation {
    let mut dice = Dice::seeded(7);
    let agent = |at: usize| CycleAgent {
        agent_id: format!("node-{at}").into(),
        available_slots: slots(64, 10),
        labels: BTreeMap::new(),
        taints: Vec::new(),
        schedulable: true,
    };
    CycleSimulation {
        capacity: slots(64 * AGENTS as u64, 10 * AGENTS as u64),
        algorithm: "quota_over_quota".to_owned(),
        options: ReclaimOptions::default(),
        queues: queues(),
        agents: Some((0..AGENTS).map(agent).collect()),
        running: running(&mut dice),
        pending: pending(&mut dice, workloads),
        now: Some(Timestamp::from_seconds(NOW)),
        cycle,
        explain: false,
    }
}

/// The median time of a cycle, without that of making its request.
fn measure(workloads: usize, options: CycleOptions) -> Duration {
    let request = simulation(workloads, options);
    let times = (0..TIMES).map(|_| {
        let request = request.clone();
        let (time, answer) = timed(|| request.run(Timestamp::from_seconds(NOW)));
        let answer = answer.unwrap_or_else(|faults| panic!("{faults:?}"));
        assert!(!answer.starts.is_empty() && !answer.waiting.is_empty(), "some start, and some wait");
        time
    });
    median(times.collect())
}

fn run() {
    let idle =
        CycleOptions { actions: ["allocate", "backfill"].map(str::to_owned).to_vec(), ..CycleOptions::default() };
    let by_queues = CycleOptions { order: "queues".to_owned(), ..CycleOptions::default() };
    SKIP.took(On::Memory, measure(10_000, idle.clone()), None);
    EASY.took(On::Memory, measure(10_000, CycleOptions { backfill: "easy".to_owned(), ..idle.clone() }), None);
    let order_of_queues = CycleOptions { order: "queues".to_owned(), ..idle.clone() };
    QUEUE_ORDER.took(On::Memory, measure(10_000, order_of_queues), None);
    MANY.took(On::Memory, measure(320_000, idle), None);
    EVICTING.took(On::Memory, measure(10_000, by_queues), None);
    on_each(FRESH, read_reasons);
}

/// Reads a list of a group in which as many kernels wait as run, again and again after the cycle was made.
async fn read_reasons(on: On) {
    let cluster = world::cluster(grown::fresh(on).await).await;
    for node in 0..10 {
        let few = json!({"cpu": "100", "mem": "1000000000000", "cuda.device": "20"});
        cluster.agent(&format!("node-{node}"), &few).await;
    }
    world::ingest(&cluster, &world::running(0..USERS, USERS)).await;
    world::ingest(&cluster, &world::waiting(USERS..2 * USERS, USERS)).await;
    let server = Server::start(&cluster).await;
    let path = "/workloads?limit=1000";
    let (_, answer) = server.get(path).await;
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert!(answer["total"] == USERS && answer["items"][999]["waiting"]["reason"].is_string(), "{answer}");
    let mut times = Vec::new();
    for _ in 0..READS {
        times.push(server.get(path).await.0);
    }
    REASONS.took(on, median(times), None);
}
