//! The faults of a request: of its agents, running workloads and pending workloads. All are found at once.

use crate::cycle::request::CycleSimulation;
use crate::cycle::request::workloads::{CycleAgent, CyclePending, CycleRunning, MAX_PENDING_MEMBERS};
use crate::division::tree::faults::unknown_queue;
use crate::fault::{Fault, MAX_FAULTS};
use crate::maps::{FastMap, FastSet};
use crate::names::check_name;
use crate::placement_rules::{Affinity, Labels, label_faults, taint_faults, toleration_faults};
use crate::reclaim::input::{MAX_RUNNING_MEMBERS, count_kernels};
use crate::reclaim::{find_duplicates, find_duplicates_in_running};

/// The longest expected run time, a year, in seconds.
const MAX_EXPECTED_SECONDS: i64 = 31_536_000;

/// Collects faults until an answer would have too many.
struct CollectedFaults(Vec<Fault>);

impl CollectedFaults {
    fn are_enough(&self) -> bool {
        self.0.len() >= MAX_FAULTS
    }

    fn about(&mut self, pointer: String, code: &'static str, said: impl std::fmt::Display) {
        if !self.are_enough() {
            self.0.push(Fault::about(pointer, code, said));
        }
    }

    fn push(&mut self, fault: Fault) {
        if !self.are_enough() {
            self.0.push(fault);
        }
    }

    fn in_range(&mut self, pointer: impl FnOnce() -> String, value: Option<i64>, (least, most): (i64, i64)) {
        if value.is_some_and(|value| value < least || value > most) {
            self.about(pointer(), "out_of_range", format!("must be {least} to {most}"));
        }
    }

    /// Adds faults whose pointers are below `pointer`.
    fn below(&mut self, pointer: &str, faults: Vec<Fault>) {
        for fault in faults {
            self.push(fault.below(pointer));
        }
    }
}

pub fn find(request: &CycleSimulation) -> Vec<Fault> {
    let mut faults = CollectedFaults(Vec::new());
    check_agents(request.agents.as_deref().unwrap_or_default(), &mut faults);
    let queues: FastSet<&str> = request.queues.iter().map(|spec| spec.config.name.as_str()).collect();
    check_running(&request.running, &queues, &mut faults);
    check_pending(request, &queues, &mut faults);
    faults.0
}

fn check_agents(agents: &[CycleAgent], faults: &mut CollectedFaults) {
    for (at, agent) in agents.iter().enumerate() {
        let place = |key: &str| format!("/agents/{at}/{key}");
        if let Err(error) = check_name(&agent.agent_id) {
            faults.about(place("agent_id"), "invalid_name", error);
        }
        faults.below(&format!("/agents/{at}"), label_faults(&agent.labels));
        faults.below(&format!("/agents/{at}"), taint_faults(&agent.taints));
    }
    let ids = agents.iter().enumerate();
    find_duplicates(ids.map(|(at, a)| (&*a.agent_id, move || format!("/agents/{at}/agent_id"))), &mut faults.0);
}

fn check_queue(pointer: &str, queue: Option<&str>, queues: &FastSet<&str>, faults: &mut CollectedFaults) {
    if let Some(name) = queue.filter(|name| !queues.contains(name)) {
        faults.push(unknown_queue(pointer, name));
    }
}

fn check_running(running: &[CycleRunning], queues: &FastSet<&str>, faults: &mut CollectedFaults) {
    let members: usize = running.iter().map(|workload| workload.members.len()).sum();
    if members > MAX_RUNNING_MEMBERS {
        let detail = format!("the request has {members} running members; at most {MAX_RUNNING_MEMBERS} are possible");
        faults.push(Fault::new("/running", "too_many", detail));
    }
    for (at, workload) in running.iter().enumerate() {
        let pointer = format!("/running/{at}");
        let place = |key: &str| format!("{pointer}/{key}");
        check_queue(&pointer, workload.queue.as_deref(), queues, faults);
        faults.in_range(|| place("expected_seconds"), workload.expected_seconds, (1, MAX_EXPECTED_SECONDS));
        check_affinity(&pointer, &workload.labels, &workload.affinity, faults);
        for (member, known) in workload.members.iter().enumerate() {
            let place = |key: &str| format!("/running/{at}/members/{member}/{key}");
            if let Some(Err(error)) = known.agent_id.as_deref().map(check_name) {
                faults.about(place("agent_id"), "invalid_name", error);
            }
        }
    }
    find_duplicates_in_running(running.iter().map(|w| (&*w.workload_id, &*w.members)), &mut faults.0);
}

fn check_pending(request: &CycleSimulation, queues: &FastSet<&str>, faults: &mut CollectedFaults) {
    let pending = &request.pending;
    let running: FastMap<&str, &CycleRunning> = request.running.iter().map(|w| (&*w.workload_id, w)).collect();
    let mut all = 0usize;
    for (at, workload) in pending.elements.iter().enumerate() {
        if faults.are_enough() {
            return;
        }
        let pointer = || pending.pointer("/pending", at);
        let place = |key: &str| format!("{}/{key}", pointer());
        if workload.queue.as_deref().is_some_and(|queue| !queues.contains(queue)) {
            check_queue(&pointer(), workload.queue.as_deref(), queues, faults);
        }
        let rest_of = running.get(&*workload.workload_id).copied();
        if rest_of.is_some_and(|running| running.queue != workload.queue) {
            let detail = "`queue` differs from that of the running workload with the same id";
            faults.push(Fault::new(place("queue"), "differs_from_running", detail));
        }
        faults.in_range(|| place("expected_seconds"), workload.expected_seconds, (1, MAX_EXPECTED_SECONDS));
        faults.in_range(|| place("max_per_agent"), workload.max_per_agent, (1, i64::from(u32::MAX)));
        all = all.saturating_add(check_members(workload, rest_of, &place, faults));
        if !(workload.labels.is_empty() && workload.affinity.is_empty()) {
            check_affinity(&pointer(), &workload.labels, &workload.affinity, faults);
        }
        if !workload.tolerations.is_empty() {
            faults.below(&pointer(), toleration_faults(&workload.tolerations));
        }
    }
    let ids = pending.elements.iter().enumerate();
    let pointer = |at: usize| move || format!("{}/workload_id", pending.pointer("/pending", at));
    find_duplicates(ids.map(|(at, w)| (&*w.workload_id, pointer(at))), &mut faults.0);
    if all > MAX_PENDING_MEMBERS {
        let detail = format!("`pending` has {all} members; at most {MAX_PENDING_MEMBERS} are possible");
        faults.push(Fault::new("/pending", "too_many", detail));
    }
}

/// Checks the members and the numbers that depend on them. Returns how many members there are.
fn check_members(
    workload: &CyclePending,
    rest_of: Option<&CycleRunning>,
    place: &impl Fn(&str) -> String,
    faults: &mut CollectedFaults,
) -> usize {
    if workload.members.is_empty() {
        faults.push(Fault::new(place("members"), "empty", "`members` must name at least one"));
        return 0;
    }
    let mut count = 0usize;
    let most = i64::try_from(MAX_PENDING_MEMBERS).unwrap_or(i64::MAX);
    for (at, member) in workload.members.iter().enumerate() {
        faults.in_range(|| place(&format!("members/{at}/count")), Some(member.count), (1, most));
        count = count.saturating_add(usize::try_from(member.count).unwrap_or_default());
    }
    let running = rest_of.map_or(0, |running| count_kernels(&running.members));
    let all = i64::try_from(count + running).unwrap_or(i64::MAX);
    if workload.gang_min.is_some_and(|min| min < 0 || min > all) {
        faults.about(place("gang_min"), "out_of_range", format!("must be 0 to {all}, the members of the workload"));
    }
    let least = workload.gang_min.unwrap_or(all).max(1);
    if workload.parallel_limit.is_some_and(|limit| limit < least) {
        let said = format!("must be at least {least}, the members that have to run together");
        faults.about(place("parallel_limit"), "out_of_range", said);
    }
    count
}

fn check_affinity(pointer: &str, labels: &Labels, affinity: &Affinity, faults: &mut CollectedFaults) {
    faults.below(pointer, label_faults(labels));
    faults.below(&format!("{pointer}/affinity"), affinity.faults());
}
