//! Workloads: their members, their status, what keeps them from ever starting, and what is held.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use domain::ids::KernelKey;
use domain::kernel::KernelPhase;
use domain::kernel_agents::KernelAgents;
use domain::placement_rules::{Labels, PlacementRules, Taint};
use domain::queues::{LiveKernel, QueueConfig, QueueConfigs};
use domain::slots::SlotAmounts;
use domain::time::Timestamp;
use domain::workloads::occupancy::{CapacityHolder, sum_holders};
use domain::workloads::{
    AgentTotals, StartDemand, StartImpediment, StartLimits, WorkloadMember, WorkloadMembers, WorkloadStatus,
    group_members,
};
use proptest::prelude::*;
use serde_json::json;
use uuid::Uuid;

use crate::support::{amounts, cases, clock, member};

fn kernel(id: u128, gang: Option<&str>, phase: KernelPhase) -> LiveKernel {
    LiveKernel {
        key: Some(KernelKey(i64::try_from(id).expect("a small id"))),
        id: Uuid::from_u128(id),
        session: Uuid::from_u128(1_000 + id / 100),
        owner: member(1, 1),
        queue: None,
        phase,
        priority: 0,
        preemptible: true,
        critical: false,
        gang_id: gang.map(str::to_owned),
        gang_min: None,
        agents: KernelAgents::Unknown,
        started_at: None,
        submitted_at: None,
        reported_at: None,
        expected_seconds: None,
        charge_class: None,
        rules: None,
        slots: amounts(&[("gpu", "1")]),
    }
}

fn one(members: impl IntoIterator<Item = (LiveKernel, Option<Timestamp>)>) -> WorkloadMembers {
    let member = |(kernel, ended_at)| WorkloadMember { kernel: Arc::new(kernel), ended_at };
    let mut found = group_members(members.into_iter().map(member));
    assert_eq!(found.len(), 1);
    found.remove(0)
}

fn started(id: u128, at: &str) -> (LiveKernel, Option<Timestamp>) {
    let kernel = kernel(id, Some("g"), KernelPhase::Running);
    let (submitted_at, started_at) = (Some(clock("09:00")), Some(clock(at)));
    (LiveKernel { submitted_at, started_at, gang_min: Some(2), ..kernel }, None)
}

fn waits(id: u128, since: &str) -> (LiveKernel, Option<Timestamp>) {
    let kernel = kernel(id, Some("g"), KernelPhase::Pending);
    (LiveKernel { submitted_at: Some(clock(since)), gang_min: Some(2), ..kernel }, None)
}

fn changes(workload: &WorkloadMembers) -> Vec<(WorkloadStatus, Timestamp)> {
    workload.status_changes().into_iter().map(|change| (change.status, change.at)).collect()
}

#[test]
fn kernels_of_a_gang_or_a_session_are_one_workload() {
    let kernels = [
        kernel(1, Some("g"), KernelPhase::Pending),
        kernel(201, None, KernelPhase::Pending),
        kernel(202, None, KernelPhase::Running),
        kernel(301, Some("g"), KernelPhase::Running),
        kernel(401, None, KernelPhase::Suspended),
    ];
    let members = kernels.map(|kernel| WorkloadMember { kernel: Arc::new(kernel), ended_at: None });
    let found = group_members(members);
    let seen: Vec<(&str, u64, u64)> = found.iter().map(|w| (&*w.id, w.counts().pending, w.counts().running)).collect();
    let (two, four) = (Uuid::from_u128(1_002).to_string(), Uuid::from_u128(1_004).to_string());
    assert_eq!(seen, [(&*two, 1, 1), (&*four, 0, 1), ("g", 1, 1)]);
    // A suspended kernel has started and holds nothing.
    assert_eq!((found[1].status(), found[1].held_slots()), (WorkloadStatus::Running, SlotAmounts::default()));
}

#[test]
fn the_status_follows_from_members_and_minimum() {
    let gang = one([waits(1, "09:30"), waits(2, "09:00"), waits(3, "09:10")]);
    assert_eq!((gang.status(), gang.waiting_since()), (WorkloadStatus::Pending, Some(clock("09:00"))));
    assert_eq!(changes(&gang), [(WorkloadStatus::Pending, clock("09:00"))]);

    let gang = one([started(1, "10:00"), waits(2, "09:20"), waits(3, "09:10")]);
    assert_eq!((gang.status(), gang.waiting_since()), (WorkloadStatus::Starting, Some(clock("09:10"))));
    let starting = [(WorkloadStatus::Pending, clock("09:00")), (WorkloadStatus::Starting, clock("10:00"))];
    assert_eq!(changes(&gang), starting);

    let gang = one([started(1, "10:00"), started(2, "10:05"), waits(3, "09:10")]);
    assert_eq!((gang.status(), gang.waiting_since()), (WorkloadStatus::Running, None));
    let running = [&starting[..], &[(WorkloadStatus::Running, clock("10:05"))]].concat();
    assert_eq!(changes(&gang), running);
    assert_eq!((gang.waiting_slots(), gang.held_slots()), (amounts(&[("gpu", "1")]), amounts(&[("gpu", "2")])));

    let ended = |(kernel, _): (LiveKernel, _), at: &str| (kernel, Some(clock(at)));
    let gang = one([ended(started(1, "10:00"), "11:00"), ended(started(2, "10:05"), "11:30")]);
    assert_eq!(gang.status(), WorkloadStatus::Ended);
    assert_eq!(changes(&gang), [&running[..], &[(WorkloadStatus::Ended, clock("11:30"))]].concat());
    assert_eq!(gang.requested_slots(), amounts(&[("gpu", "2")]));

    // An earlier run of the same session is not a part of this one.
    let again = one([ended(started(1, "10:00"), "11:00"), waits(2, "11:05")]);
    assert_eq!((again.status(), again.waiting_since()), (WorkloadStatus::Pending, Some(clock("11:05"))));
    assert_eq!(changes(&again), [(WorkloadStatus::Pending, clock("11:05"))]);
    assert_eq!(again.requested_slots(), amounts(&[("gpu", "1")]));
}

#[test]
fn all_members_are_the_minimum_unless_one_is_reported() {
    let alone = |(kernel, ended): (LiveKernel, _)| (LiveKernel { gang_min: None, ..kernel }, ended);
    let gang = one([alone(started(1, "10:00")), alone(waits(2, "09:00"))]);
    assert_eq!(gang.status(), WorkloadStatus::Starting);
    let single = one([alone(started(1, "10:00"))]);
    let expected = [(WorkloadStatus::Pending, clock("09:00")), (WorkloadStatus::Running, clock("10:00"))];
    assert_eq!((single.status(), changes(&single)), (WorkloadStatus::Running, expected.to_vec()));
}

#[test]
fn without_a_submission_a_kernel_waits_since_its_first_report() {
    let (waiting, _) = waits(1, "09:00");
    let reported = LiveKernel { submitted_at: None, reported_at: Some(clock("09:45")), ..waiting.clone() };
    assert_eq!(one([(reported, None)]).waiting_since(), Some(clock("09:45")));
    let unknown = LiveKernel { submitted_at: None, ..waiting };
    let workload = one([(unknown, None)]);
    assert_eq!((workload.waiting_since(), workload.status_changes().len()), (None, 0));
}

/// Agents by id: their labels, their taints and their slots.
type Agents = Vec<(&'static str, Labels, Vec<Taint>, SlotAmounts)>;

fn rack(name: &str) -> Labels {
    BTreeMap::from([("rack".to_owned(), name.to_owned())])
}

fn agents() -> Agents {
    let taint = serde_json::from_value(json!({"key": "old", "effect": "NoSchedule"})).expect("a taint");
    vec![
        ("n1", rack("r1"), vec![], amounts(&[("cpu", "8"), ("gpu", "4")])),
        ("n2", rack("r2"), vec![], amounts(&[("cpu", "16"), ("gpu", "2")])),
        ("n3", rack("r2"), vec![taint], amounts(&[("cpu", "64"), ("gpu", "8")])),
    ]
}

fn limited(limits: &[(&str, Option<&str>, &str)]) -> QueueConfigs {
    let queue = |(name, parent, gpus): &(&str, Option<&str>, &str)| {
        let limit = serde_json::from_value(json!({"gpu": gpus})).expect("a limit");
        let config = QueueConfig { parent: parent.map(str::to_owned), limit, ..QueueConfig::named(*name) };
        (Arc::from(*name), Arc::new(config))
    };
    limits.iter().map(queue).collect()
}

/// The impediment of a workload of these kernels.
fn impediment(
    agents: &Agents,
    queues: &QueueConfigs,
    workload: &WorkloadMembers,
    queue: &str,
) -> Option<StartImpediment> {
    let totals = agents.iter().map(|(id, labels, taints, slots)| AgentTotals::new(id, labels, taints, slots));
    let mut limits = StartLimits::new(totals.collect(), queues);
    let (members, needed) = workload.waiting_members();
    limits.impediment(&StartDemand { members, needed, held: workload.held_slots(), queue })
}

fn asking(count: u128, slots: &[(&str, &str)], rules: serde_json::Value) -> WorkloadMembers {
    let rules: PlacementRules = serde_json::from_value(rules).expect("rules");
    let kernel = |id| {
        let kernel = kernel(id, Some("g"), KernelPhase::Pending);
        (LiveKernel { slots: amounts(slots), rules: rules.clone().boxed(), ..kernel }, None)
    };
    one((1..=count).map(kernel))
}

/// The impediment as `reason scope slot asked most`.
fn in_words(found: Option<StartImpediment>) -> String {
    match found {
        None => "nothing".to_owned(),
        Some(StartImpediment::TooLarge { scope, slot, asked, most }) => {
            format!("too_large {} {} {asked} {most}", scope.as_str(), slot.as_str())
        }
        Some(StartImpediment::TooManyMembers { asked, most }) => format!("too_large members {asked} {most}"),
        Some(StartImpediment::Predicates { refused, agents }) => format!("predicates {refused:?} {agents}"),
    }
}

#[test]
fn what_asks_for_more_than_there_is_can_never_start() {
    let none = json!({});
    let tolerant = json!({"tolerations": [{"operator": "Exists"}]});
    let in_rack = |name: &str| json!({"affinity": {"agents": [{"key": "rack", "operator": "In", "values": [name]}]}});
    let on_agent = json!({"affinity": {"agents": [{"key": "agent_id", "operator": "In", "values": ["n2"]}]}});
    let (agents, no_queues) = (agents(), QueueConfigs::new());
    for (count, slots, rules, expected) in [
        (1, &[("gpu", "4")][..], &none, "nothing"),
        (1, &[("gpu", "5")], &none, "too_large agent gpu 5 4"),
        (1, &[("gpu", "5")], &tolerant, "nothing"),
        (1, &[("gpu", "9")], &tolerant, "too_large agent gpu 9 8"),
        (1, &[("tpu", "1"), ("gpu", "40")], &none, "too_large agent tpu 1 0"),
        // Each slot is there, but not on one agent.
        (1, &[("cpu", "16"), ("gpu", "4")], &none, "too_large agent cpu 16 16"),
        (1, &[("gpu", "3")], &in_rack("r2"), "too_large agent gpu 3 2"),
        (1, &[("gpu", "2")], &on_agent, "nothing"),
        (1, &[("gpu", "1")], &in_rack("r9"), "predicates {\"labels\": 3} 3"),
        (
            1,
            &[("gpu", "1")],
            &json!({"affinity": {"agents": [{"key": "rack", "operator": "NotIn", "values": ["r1", "r2"]}]}}),
            "predicates {\"labels\": 3} 3",
        ),
        (15, &[("gpu", "1")], &tolerant, "too_large group gpu 15 14"),
        (14, &[("gpu", "1")], &tolerant, "nothing"),
        // The tainted agent counts for the capacity, but takes none of them.
        (7, &[("gpu", "1")], &none, "too_large members 7 6"),
        (6, &[("gpu", "1")], &none, "nothing"),
    ] {
        let workload = asking(count, slots, rules.clone());
        assert_eq!(
            in_words(impediment(&agents, &no_queues, &workload, "default")),
            expected,
            "{count} x {slots:?} {rules}"
        );
    }
    let refused = impediment(&agents[2..].to_vec(), &no_queues, &asking(1, &[("gpu", "1")], none), "default");
    assert_eq!(in_words(refused), "predicates {\"taints\": 1} 1");
}

#[test]
fn limits_of_the_queue_and_of_those_above_count() {
    let queues = limited(&[("root", None, "3"), ("ml", Some("root"), "5"), ("web", None, "unlimited")]);
    let agents = agents();
    for (count, queue, expected) in [
        (3, "ml", "nothing"),
        (4, "ml", "too_large queue gpu 4 3"),
        (6, "ml", "too_large queue gpu 6 5"),
        (6, "web", "nothing"),
        (6, "nowhere", "nothing"),
    ] {
        let found = impediment(&agents, &queues, &asking(count, &[("gpu", "1")], json!({})), queue);
        assert_eq!(in_words(found.clone()), expected, "{count} {queue}");
        // Without agents nothing is known of what there is, but limits hold.
        assert_eq!(impediment(&Agents::new(), &queues, &asking(count, &[("gpu", "1")], json!({})), queue), found);
    }
}

#[test]
fn only_the_minimum_that_is_left_counts() {
    let agents = agents();
    let with_min = |count: u128, minimum: u32| {
        one((1..=count)
            .map(|id| (LiveKernel { gang_min: Some(minimum), ..kernel(id, Some("g"), KernelPhase::Pending) }, None)))
    };
    assert_eq!(in_words(impediment(&agents, &QueueConfigs::new(), &with_min(40, 6), "default")), "nothing");
    assert_eq!(
        in_words(impediment(&agents, &QueueConfigs::new(), &with_min(40, 7), "default")),
        "too_large members 7 6"
    );
    // More than all reported members cannot be needed: others may still be reported.
    assert_eq!(in_words(impediment(&agents, &QueueConfigs::new(), &with_min(2, 4), "default")), "nothing");
    // The slots that it holds already belong to the minimum.
    let queues = limited(&[("ml", None, "3")]);
    let half = one([started(1, "10:00"), started(2, "10:00"), started(3, "10:00"), waits(4, "09:00")]
        .map(|(k, e)| (LiveKernel { gang_min: Some(4), ..k }, e)));
    assert_eq!(in_words(impediment(&agents, &queues, &half, "ml")), "too_large queue gpu 4 3");
}

proptest! {
    #![proptest_config(cases(200))]

    /// A workload of equal members without rules starts on the empty agents one member after the other, unless something is
    /// found that keeps it from it.
    #[test]
    fn an_impediment_is_found_exactly_if_equal_members_do_not_fit(
        totals in prop::collection::vec((0u8..6, 0u8..6), 1..4),
        (cpu, gpu) in (0u8..5, 0u8..5),
        count in 1u128..8,
    ) {
        let text = |value: u8| value.to_string();
        let slots = |(cpu, gpu): (u8, u8)| amounts(&[("cpu", &text(cpu)), ("gpu", &text(gpu))]);
        let names = ["n1", "n2", "n3"];
        let agents: Agents =
            totals.iter().zip(names).map(|(total, name)| (name, Labels::new(), vec![], slots(*total))).collect();
        let workload = asking(count, &[("cpu", &text(cpu)), ("gpu", &text(gpu))], json!({}));
        let mut left: Vec<(i16, i16)> = totals.iter().map(|(c, g)| (i16::from(*c), i16::from(*g))).collect();
        let mut fit = 0;
        for _ in 0..count {
            let place = left.iter_mut().find(|(c, g)| *c >= i16::from(cpu) && *g >= i16::from(gpu));
            let Some((c, g)) = place else { break };
            (*c, *g) = (*c - i16::from(cpu), *g - i16::from(gpu));
            fit += 1;
        }
        let found = impediment(&agents, &QueueConfigs::new(), &workload, "default");
        prop_assert_eq!(found.is_none(), fit == count, "{:?}", found);
    }
}

#[test]
fn what_is_held_is_summed_by_holder() {
    let running = |id, gpus: &str, agents: &[&str]| LiveKernel {
        slots: amounts(&[("gpu", gpus)]),
        agents: agents.iter().map(ToString::to_string).collect::<Vec<_>>().into(),
        ..kernel(id, None, KernelPhase::Running)
    };
    let kernels = [
        running(1, "2", &["n2"]),
        running(2, "2", &["n1"]),
        running(3, "2", &["n2", "n1"]),
        running(4, "1", &[]),
        LiveKernel { phase: KernelPhase::Suspended, ..running(5, "4", &["n3", "n1"]) },
        kernel(6, None, KernelPhase::Pending),
    ];
    let parts = |kernel: &'_ LiveKernel| {
        let holder = |agent: Option<&str>| CapacityHolder { name: agent.map(str::to_owned), id: None };
        kernel.parts().map(|part| (holder(part.agent), Cow::Owned(part.slots.into_owned()))).collect::<Vec<_>>()
    };
    let empty = ["n3", "n1"].map(|name| CapacityHolder { name: Some(name.to_owned()), id: None });
    let capacity = amounts(&[("gpu", "8"), ("cpu", "0")]);
    let rows = sum_holders(kernels.iter(), empty.into_iter(), parts, &capacity);
    let seen: Vec<(Option<&str>, String, u64, u64)> = rows
        .iter()
        .map(|(holder, sums)| {
            let share = sums.shares(&capacity).get("gpu").cloned().unwrap_or_default();
            (holder.name.as_deref(), share, sums.running, sums.pending)
        })
        .collect();
    assert_eq!(
        seen,
        [
            (Some("n1"), "0.375".to_owned(), 2, 0),
            (Some("n2"), "0.375".to_owned(), 2, 0),
            (None, "0.125".to_owned(), 1, 1),
            (Some("n3"), String::new(), 0, 0),
        ]
    );
}
