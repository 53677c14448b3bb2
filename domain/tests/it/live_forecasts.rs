//! The input of forecasts of live groups: agents, placement rules, queues, and what ended before.

use std::sync::Arc;

use domain::cycle::BackfillMode;
use domain::decimal::Amount;
use domain::forecast::{
    DRAWS, ForecastInput, InputChange, LiveAgent, LiveGroup, OwnerOrder, PastWorkload, PresentWorkload, StartForecast,
    StartPercentiles, UnknownStart,
};
use domain::identity;
use domain::ids::Member;
use domain::kernel::KernelPhase;
use domain::kernel_agents::KernelAgents;
use domain::maps::FastMap;
use domain::placement_rules::{Labels, PlacementRules, Taint};
use domain::queues::{Bound, LiveKernel, QueueConfig, QueueConfigs};
use domain::slots::{SlotAmounts, SlotName};
use domain::time::{MICROS_PER_SECOND, Timestamp};
use domain::workloads::{AgentTotals, WorkloadMember, WorkloadMembers, group_members};
use serde_json::{Value, json};

use crate::support::at as time;

const NOW: &str = "2026-03-02T12:00:00Z";
const HOUR: i64 = 3_600;

fn later(seconds: i64) -> Timestamp {
    time(NOW).plus_micros(seconds * MICROS_PER_SECOND)
}

fn cpu(count: u64) -> SlotAmounts {
    [(SlotName::new("cpu").unwrap(), Amount::whole(count))].into_iter().collect()
}

/// A kernel that waits, of a gang with its name.
fn kernel(name: &str, cores: u64) -> LiveKernel {
    LiveKernel {
        key: None,
        id: identity::user(name).0,
        session: identity::user(name).0,
        owner: Member { user: identity::user("ann"), project: identity::project("p") },
        queue: None,
        phase: KernelPhase::Pending,
        priority: 0,
        preemptible: true,
        critical: false,
        gang_id: Some(name.to_owned()),
        gang_min: None,
        agents: KernelAgents::Unknown,
        started_at: None,
        submitted_at: Some(later(-HOUR)),
        reported_at: None,
        expected_seconds: None,
        charge_class: None,
        rules: None,
        slots: cpu(cores),
    }
}

fn runs(name: &str, cores: u64, agent: Option<&str>) -> LiveKernel {
    LiveKernel {
        phase: KernelPhase::Running,
        started_at: Some(later(-HOUR / 2)),
        agents: KernelAgents::of_one(agent.map(str::to_owned)),
        ..kernel(name, cores)
    }
}

fn workload(kernel: LiveKernel, ended_at: Option<Timestamp>) -> WorkloadMembers {
    group_members([WorkloadMember { kernel: Arc::new(kernel), ended_at }]).pop().unwrap()
}

/// Twenty workloads that ran for an hour each.
fn past() -> Vec<PastWorkload> {
    let ended = |n: i64| {
        let start = later(-100 * HOUR - n);
        let kernel =
            LiveKernel { started_at: Some(start), submitted_at: Some(start), ..runs(&format!("{n}"), 1, None) };
        PastWorkload::runs_of(&workload(kernel, Some(start.plus_micros(HOUR * MICROS_PER_SECOND))), "default").remove(0)
    };
    (0..20).rev().map(ended).collect()
}

/// Two agents with four cores each, of which the second one has a taint or is closed.
struct Cluster {
    taints: Vec<Taint>,
    is_open: bool,
    queues: QueueConfigs,
    past: Vec<PastWorkload>,
}

impl Cluster {
    fn new() -> Self {
        Self { taints: Vec::new(), is_open: true, queues: QueueConfigs::new(), past: past() }
    }

    /// The input in which these run, and these wait in their queues.
    fn input(&self, running: &[WorkloadMembers], waiting: &[(WorkloadMembers, &str)]) -> ForecastInput {
        let (labels, slots) = (Labels::new(), cpu(4));
        let agent = |agent_id, taints, is_schedulable| {
            let totals = AgentTotals::new(agent_id, &labels, taints, &slots);
            LiveAgent { agent_id, totals, is_schedulable }
        };
        LiveGroup {
            now: time(NOW),
            capacity: &cpu(8),
            agents: vec![agent("n1", &[], true), agent("n2", &self.taints, self.is_open)],
            queues: &self.queues,
            running: running.iter().map(|members| PresentWorkload { members, queue: "default" }).collect(),
            waiting: waiting.iter().map(|(members, queue)| PresentWorkload { members, queue }).collect(),
            past: &self.past,
            past_from: time(NOW),
            places: &FastMap::default(),
            learned_seconds: &|_| None,
            backfill: BackfillMode::Skip,
            order: OwnerOrder::Fixed,
        }
        .forecast_input()
    }

    fn forecast(&self, running: &[WorkloadMembers], waiting: LiveKernel, queue: &str) -> StartForecast {
        self.input(running, &[(workload(waiting, None), queue)]).forecast_one(0, 7, DRAWS).unwrap()
    }
}

fn known(forecast: StartForecast) -> StartPercentiles {
    forecast.known().unwrap_or_else(|| panic!("{forecast:?}"))
}

/// True if it starts at once.
fn is_now(forecast: StartForecast) -> bool {
    known(forecast).p90 == time(NOW)
}

fn rules(value: Value) -> PlacementRules {
    serde_json::from_value(value).unwrap()
}

#[test]
fn members_start_where_agents_admit_them_and_have_room() {
    let mut cluster = Cluster::new();
    let busy = [workload(runs("now", 4, Some("n1")), None)];
    assert!(is_now(cluster.forecast(&busy, kernel("w", 4), "default")), "the second agent is free");
    let only_first = json!({"affinity": {"agents": [{"key": "agent_id", "operator": "In", "values": ["n1"]}]}});
    let bound = LiveKernel { rules: Some(Box::new(rules(only_first))), ..kernel("w", 4) };
    let start = known(cluster.forecast(&busy, bound, "default"));
    assert!(start.p10 > later(HOUR / 4) && start.p90 < later(HOUR), "half an hour is left: {start:?}");
    cluster.is_open = false;
    assert!(!is_now(cluster.forecast(&busy, kernel("w", 4), "default")), "the second agent takes no work");
    cluster.is_open = true;
    cluster.taints = vec![serde_json::from_value(json!({"key": "gpu", "value": "", "effect": "NoSchedule"})).unwrap()];
    assert!(!is_now(cluster.forecast(&busy, kernel("w", 4), "default")), "it does not tolerate the taint");
    let tolerations = json!({"tolerations": [{"key": "gpu", "operator": "Exists"}]});
    let tolerant = LiveKernel { rules: Some(Box::new(rules(tolerations))), ..kernel("w", 4) };
    assert!(is_now(cluster.forecast(&busy, tolerant, "default")));
    assert_eq!(
        cluster.forecast(&[], kernel("w", 5), "default"),
        StartForecast::Unknown(UnknownStart::DoesNotFit),
        "no agent has five cores"
    );
}

#[test]
fn totals_count_where_a_running_member_names_no_agent() {
    let cluster = Cluster::new();
    let unplaced = [workload(runs("now", 2, None), None)];
    assert!(is_now(cluster.forecast(&unplaced, kernel("w", 6), "default")), "six of eight cores are free somewhere");
    assert!(!is_now(cluster.forecast(&unplaced, kernel("w", 7), "default")));
}

#[test]
fn a_running_kernel_holds_its_part_on_each_of_its_agents() {
    let cluster = Cluster::new();
    let agents: KernelAgents = vec!["n2".to_owned(), "n1".to_owned()].into();
    let spread = [workload(LiveKernel { agents, ..runs("now", 3, None) }, None)];
    assert!(is_now(cluster.forecast(&spread, kernel("w", 3), "default")), "n1 has one core of the three");
    assert!(!is_now(cluster.forecast(&spread, kernel("w", 4), "default")), "no agent is free");
    let unknown: KernelAgents = vec!["n1".to_owned(), "n9".to_owned()].into();
    let elsewhere = [workload(LiveKernel { agents: unknown, ..runs("now", 3, None) }, None)];
    assert!(is_now(cluster.forecast(&elsewhere, kernel("w", 5), "default")), "only totals count");
}

#[test]
fn queues_and_those_above_them_have_limits() {
    let mut cluster = Cluster::new();
    let limited = |cores| {
        let limit = [(SlotName::new("cpu").unwrap(), Bound::Limited(Amount::whole(cores)))].into_iter().collect();
        QueueConfig { limit, ..QueueConfig::named("top") }
    };
    let below = QueueConfig { parent: Some("top".to_owned()), ..QueueConfig::named("below") };
    cluster.queues = [("top", limited(3)), ("below", below), ("free", QueueConfig::named("free"))]
        .map(|(name, config)| (Arc::from(name), Arc::new(config)))
        .into();
    assert!(is_now(cluster.forecast(&[], kernel("w", 3), "below")));
    assert_eq!(cluster.forecast(&[], kernel("w", 4), "below"), StartForecast::Unknown(UnknownStart::DoesNotFit));
    assert!(is_now(cluster.forecast(&[], kernel("w", 4), "free")));
}

#[test]
fn changes_of_a_workload_are_made_on_the_input() {
    let cluster = Cluster::new();
    let busy = [workload(runs("a", 4, Some("n1")), None), workload(runs("b", 2, Some("n2")), None)];
    let waiting = [(workload(kernel("first", 2), None), "default"), (workload(kernel("mine", 4), None), "default")];
    let input = cluster.input(&busy, &waiting);
    let start = |(place, input): (usize, ForecastInput)| known(input.forecast_one(place, 7, DRAWS).unwrap()).p50;
    let present = start((1, input.clone()));
    assert!(present > time(NOW));
    let halved = start(input.changed(1, InputChange::HalfSlots).unwrap());
    assert!(halved > time(NOW), "the first one takes the last two cores");
    let next = start(input.changed(1, InputChange::NextInOrder).unwrap());
    assert!(next <= present);
    assert!(input.changed(0, InputChange::NextInOrder).is_none(), "it is the next one already");
    assert!(input.changed(0, InputChange::HalfTime).is_none(), "nothing is known of its time");
    let (place, alone) = cluster.input(&busy, &waiting[1..]).changed(0, InputChange::HalfSlots).unwrap();
    assert_eq!(start((place, alone)), time(NOW));
}

#[test]
fn a_workload_that_never_started_is_no_past() {
    assert!(PastWorkload::runs_of(&workload(kernel("w", 1), Some(later(0))), "default").is_empty());
    assert!(PastWorkload::runs_of(&workload(runs("w", 1, None), None), "default").is_empty(), "it has not ended");
}

#[test]
fn runs_of_a_session_that_was_started_again_are_different_workloads() {
    let member = |name: &str, start: i64, end: i64| WorkloadMember {
        kernel: Arc::new(LiveKernel {
            gang_id: Some("same".to_owned()),
            started_at: Some(later(start)),
            submitted_at: Some(later(start)),
            ..runs(name, 1, None)
        }),
        ended_at: Some(later(end)),
    };
    let members = [member("a", -1_000, -900), member("b", -1_000, -800), member("c", -500, -400)];
    let workload = group_members(members).pop().unwrap();
    let starts: Vec<Timestamp> =
        PastWorkload::runs_of(&workload, "default").iter().map(|run| run.submitted_at).collect();
    assert_eq!(starts, [later(-1_000), later(-500)]);
}

#[test]
fn what_is_present_was_submitted_once() {
    let mut cluster = Cluster::new();
    // Two members wait and one runs; one more has ended, which is therefore no workload of the past.
    let member = |kernel: LiveKernel, ended_at| WorkloadMember {
        kernel: Arc::new(LiveKernel { gang_id: Some("same".to_owned()), ..kernel }),
        ended_at,
    };
    let ended = group_members([member(runs("ended", 1, None), Some(later(-60)))]).pop().unwrap();
    cluster.past.extend(PastWorkload::runs_of(&ended, "default"));
    let present = group_members([
        member(kernel("a", 1), None),
        member(kernel("b", 1), None),
        member(runs("c", 1, Some("n1")), None),
    ]);
    let present = present.into_iter().next().unwrap();
    let input = cluster.input(std::slice::from_ref(&present), &[(present.clone(), "default")]);
    assert_eq!(input.past.len(), 21, "the twenty of the past, and the present one");
    assert_eq!(input.past.last().unwrap().place, 1, "an owner without a place is behind all that wait");
}
