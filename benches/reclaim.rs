//! A reclaim plan over a large snapshot. The floor adds up the slots of the running members, by queue and by agent.

use std::collections::HashMap;
use std::time::Duration;

use fairshared::domain::decimal::Amount;
use fairshared::domain::division::{DivisionOptions, DivisionTrace, QueueSlotGrid, QueueTree, algorithm};
use fairshared::domain::queues::{Bound, QueueConfig, QueueSpec};
use fairshared::domain::reclaim::{
    PendingGang, PendingMember, PlanOptions, ReclaimAgent, ReclaimInput, ReclaimVerdict, RunningMember,
    RunningWorkload, observed_tree, plan,
};
use fairshared::domain::slots::SlotAmounts;
use fairshared::domain::time::Timestamp;

use crate::common::figure::{Bar, Bench, Figure, MEMORY, On, Unit};
use crate::common::{median, repeat, slots, timed};

pub const BENCH: Bench = Bench { name: "reclaim", figures: &[&MEDIAN, &LONGEST, &RECLAIMING], run };

const fn plans(name: &'static str, bars: &'static [Bar]) -> Figure {
    Figure { name, floor: "what members hold, added up by queue and agent", unit: Unit::Time, bars, on: MEMORY }
}

static MEDIAN: Figure =
    plans("median of 200 plans on 5,000 full agents, 50,000 kernels, 2,000 queues", &[Bar::Most(0.02)]);
static LONGEST: Figure = plans("the longest of these plans; its bar is the search budget", &[Bar::Most(1.0)]);
static RECLAIMING: Figure = plans("median of those that reclaim", &[Bar::Most(0.02)]);

const AGENTS: usize = 5_000;
const KERNELS: usize = 50_000;
const QUEUES: usize = 2_000;
const PARENTS: usize = 40;
const PLANS: usize = 200;

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % sides
    }
}

struct Cluster {
    tree: QueueTree,
    fair_share: QueueSlotGrid<Amount>,
    agents: Vec<ReclaimAgent>,
    running: Vec<RunningWorkload>,
}

fn leaf(at: usize) -> String {
    format!("q{}", PARENTS + at % (QUEUES - PARENTS))
}

fn queues(dice: &mut Dice) -> Vec<QueueSpec> {
    let spec = |at: usize| {
        let parent = (at >= PARENTS).then(|| format!("q{}", at % PARENTS));
        let quota = if at < PARENTS { slots(1_000, 500) } else { slots(20, 10) };
        let quota = quota.map(Bound::Limited);
        QueueConfig { parent, quota, priority: i32::from(dice.roll(5) == 0), ..QueueConfig::named(format!("q{at}")) }
            .into()
    };
    (0..QUEUES).map(spec).collect()
}

/// A cluster with ten kernels on every agent, which leave no gpu free, some in gangs over several agents. Few queues hold
/// much, many little.
fn cluster() -> Cluster {
    let mut dice = Dice(7);
    let agent = |at: usize| ReclaimAgent {
        agent_id: format!("node-{at}").into(),
        available_slots: slots(64, 10),
        labels: std::collections::BTreeMap::new(),
        schedulable: true,
    };
    let agents: Vec<ReclaimAgent> = (0..AGENTS).map(agent).collect();
    let (mut running, mut placed) = (Vec::new(), 0);
    while placed < KERNELS {
        let size = [1, 1, 1, 2, 4, 8][dice.roll(6)].min(KERNELS - placed);
        let id = running.len();
        let (one, other) = (dice.roll(QUEUES), dice.roll(QUEUES));
        let start = Timestamp::from_seconds(1_767_000_000 + i64::try_from(id).unwrap_or(0));
        let member = |m: usize| RunningMember {
            kernel_id: format!("k{}", placed + m).into(),
            slots: slots(4, 1),
            agent_id: Some(format!("node-{}", (placed + m) % AGENTS).into()),
        };
        running.push(RunningWorkload {
            workload_id: format!("w{id}").into(),
            queue: leaf(one.min(other)).into(),
            priority: i32::try_from(dice.roll(3)).unwrap_or(0),
            preemptible: dice.roll(10) > 0,
            critical: false,
            created_at: Some(start),
            started_at: Some(start),
            gang_min: (dice.roll(2) == 0).then_some(1),
            members: (0..size).map(member).collect(),
        });
        placed += size;
    }
    let capacity = slots(64 * AGENTS as u64, 10 * AGENTS as u64);
    let tree = observed_tree(&queues(&mut dice), &capacity, &running, None).unwrap_or_else(|f| panic!("{f:?}"));
    let divide = algorithm("quota_over_quota").unwrap_or_else(|| panic!("no algorithm"));
    let mut wanting = tree.clone();
    // All queues ask for more than the capacity, so that shares follow from weights and quotas.
    for queue in 0..tree.len() {
        wanting.request.row_mut(queue).fill(Amount::whole(100_000));
    }
    let fair_share = divide.divide(&wanting, &DivisionOptions::default(), &mut DivisionTrace::off()).fair_share;
    Cluster { tree, fair_share, agents, running }
}

fn pending(dice: &mut Dice) -> PendingGang {
    // From one gpu to 16, on one agent or several; the last one asks for more than any queue deserves.
    let (size, gpus) = [(1, 1), (1, 2), (1, 4), (1, 8), (2, 4), (8, 1), (16, 1), (8, 8)][dice.roll(8)];
    let member = PendingMember { slots: slots(4 * gpus, gpus), labels: std::collections::BTreeMap::new() };
    PendingGang {
        workload_id: "new".into(),
        queue: leaf(QUEUES / 2 + dice.roll(QUEUES / 2)).into(),
        priority: 1,
        preemptible: true,
        created_at: None,
        gang_min: None,
        members: vec![member; size],
    }
}

fn floor(cluster: &Cluster) -> Duration {
    repeat(15, || {
        let (mut by_queue, mut by_agent): (HashMap<&str, SlotAmounts>, HashMap<&str, SlotAmounts>) = Default::default();
        for workload in &cluster.running {
            let queue = by_queue.entry(&workload.queue).or_default();
            for member in &workload.members {
                queue.add(&member.slots);
                by_agent.entry(member.agent_id.as_deref().unwrap_or_default()).or_default().add(&member.slots);
            }
        }
        (by_queue.len(), by_agent.len())
    })
}

fn run() {
    let cluster = cluster();
    let floor = floor(&cluster);
    let options = PlanOptions::default();
    let (mut dice, mut times, mut reclaiming) = (Dice(11), Vec::new(), Vec::new());
    for _ in 0..PLANS {
        let pending = pending(&mut dice);
        let input = ReclaimInput {
            tree: &cluster.tree,
            fair_share: &cluster.fair_share,
            running: &cluster.running,
            pending: &pending,
            agents: Some(&cluster.agents),
            options: &options,
            now: Timestamp::from_seconds(1_768_000_000),
        };
        let (time, plan) = timed(|| plan(&input));
        if plan.is_ok_and(|plan| plan.verdict == ReclaimVerdict::Reclaim) {
            reclaiming.push(time);
        }
        times.push(time);
    }
    let longest = times.iter().copied().max().unwrap_or_default();
    MEDIAN.took(On::Memory, median(times), Some(floor));
    LONGEST.took(On::Memory, longest, Some(floor));
    RECLAIMING.took(On::Memory, median(reclaiming), Some(floor));
}
