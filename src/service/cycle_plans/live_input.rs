//! The input of a cycle, from the snapshot of a group.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::request::owner_faults;
use crate::api::sequence::PendingWorkload;
use crate::domain::cycle::{
    CycleAgent, CycleAnswer, CycleOptions, CyclePending, CycleRunning, CycleSimulation, CycleWaiting, LiveWorkload,
    PendingList, WaitDetails, WaitReason,
};
use crate::domain::decimal::Amount;
use crate::domain::division::DivisionWarning;
use crate::domain::ids::{Member, ProjectId, UserId};
use crate::domain::queues::{DEFAULT_QUEUE, LiveKernel, QueueSpec};
use crate::domain::reading::seconds;
use crate::domain::slots::SlotAmounts;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};
use crate::domain::workloads::AssessedWorkloads;
use crate::engine::group::snapshots::cluster::warn_of_unplaced;
use crate::engine::group::snapshots::snapshot_data::GroupSnapshotData;
use crate::engine::people::lookup;
use crate::service::reported_workloads::queue_of;
use crate::service::sequence::pending::ReportedWorkloads;
use crate::service::sequence::{SequenceInput, SequencedWorkloads};
use crate::service::visible_group::VisibleGroup;
use crate::service::{Error, Fault, Result, Service};
use crate::store::agents::StoredAgent;

/// The state from which cycles begin.
pub(super) struct LiveInput<'a> {
    pub service: &'a Service,
    pub group: &'a VisibleGroup,
    pub assessed: &'a AssessedWorkloads,
    pub now: Timestamp,
}

/// The owner of a workload of a request, as far as it is named.
#[derive(Clone, Copy, Debug)]
struct NamedOwner {
    user: Option<UserId>,
    project: Option<ProjectId>,
}

/// A place in the group's order for each workload, by id.
type OrderPositions = HashMap<String, i64>;

impl LiveInput<'_> {
    /// True if a workload waits.
    pub fn waits(&self) -> bool {
        self.assessed.workloads.iter().any(|workload| workload.waiting_kernels().next().is_some())
    }

    /// Runs a cycle with the reported workloads that wait.
    pub fn run(&self, options: CycleOptions, explain: bool) -> Result<CycleAnswer> {
        self.run_changed(options, explain, ReportedWorkloads::startable(self.assessed), |_| ())
    }

    /// Runs a cycle with reported workloads that differ from what was reported. `ordered` gives the order, and `change` changes
    /// the pending workloads of the cycle.
    pub fn run_changed(
        &self,
        options: CycleOptions,
        explain: bool,
        ordered: ReportedWorkloads,
        change: impl FnOnce(&mut Vec<CyclePending>),
    ) -> Result<CycleAnswer> {
        let positions = if options.takes_turns() {
            OrderPositions::new()
        } else {
            positions(&ordered.order(self.service, self.group, self.now, false)?)
        };
        let workloads = self.workloads(&positions);
        let (incomplete, complete): (Vec<_>, Vec<_>) =
            workloads.iter().partition(|workload| workload.members.is_incomplete());
        let mut pending: Vec<CyclePending> = complete.iter().filter_map(|workload| workload.pending()).collect();
        change(&mut pending);
        let mut answer = self.answer(&workloads, options, pending.into(), explain)?;
        self.name_kernels(&mut answer);
        answer.waiting.extend(incomplete.iter().map(|workload| wait_for_members(workload)));
        let mixed = complete.iter().filter(|workload| workload.has_mixed_rules()).count();
        if mixed > 0 {
            let detail =
                format!("the members of {mixed} workloads have different placement rules; those of the first count");
            answer.warnings.push(DivisionWarning::new("members_differ", None, None, detail));
        }
        Ok(answer)
    }

    /// Runs a cycle in which the given workloads alone wait. Faults have pointers below `/pending`.
    pub fn run_with(&self, mut pending: PendingList, options: CycleOptions, explain: bool) -> Result<CycleAnswer> {
        let owners = self.owners(&pending)?;
        for (workload, owner) in pending.elements.iter_mut().zip(&owners) {
            let queue = owner.project.map_or(DEFAULT_QUEUE, |project| self.facts().queue_of(None, project));
            workload.queue.get_or_insert_with(|| Arc::from(queue));
        }
        let mut warnings = Vec::new();
        if !options.takes_turns() {
            let sequenced = self.ordered(&pending, &owners)?;
            let positions = positions(&sequenced);
            for workload in &mut pending.elements {
                workload.position = positions.get(&*workload.workload_id).copied();
            }
            warnings = sequenced.warnings;
        }
        let workloads = self.workloads(&OrderPositions::new());
        let mut answer = self.answer(&workloads, options, pending, explain)?;
        let shown = warnings.into_iter().map(|warning| DivisionWarning::new(warning.code, None, None, warning.detail));
        answer.warnings.extend(shown);
        Ok(answer)
    }

    fn facts(&self) -> &GroupSnapshotData {
        &self.group.published().facts
    }

    fn workloads(&self, positions: &OrderPositions) -> Vec<LiveWorkload<'_>> {
        let facts = self.facts();
        let workload = |members| LiveWorkload {
            members,
            queue: Arc::from(queue_of(facts, members)),
            position: positions.get(&*members.id).copied(),
        };
        self.assessed.workloads.iter().map(|members| workload(&**members)).collect()
    }

    fn answer(
        &self,
        workloads: &[LiveWorkload],
        options: CycleOptions,
        pending: PendingList,
        explain: bool,
    ) -> Result<CycleAnswer> {
        let facts = self.facts();
        let running: Vec<CycleRunning> = workloads
            .iter()
            .filter_map(|workload| workload.running(|kernel| learned_seconds(facts, kernel.owner)))
            .collect();
        let lost = running.iter().flat_map(|w| &w.members).filter(|member| member.agent_id.is_none()).count();
        let division = &facts.options.division;
        let simulation = CycleSimulation {
            capacity: facts.capacity.clone(),
            algorithm: division.algorithm().name().to_owned(),
            options: division.settings(),
            queues: self.queues()?,
            // The free room of each agent is not known if some kernels do not say where they run. A group without agents has no
            // room, and none that workloads could be too large for.
            agents: (lost == 0 || facts.agents.is_empty()).then(|| facts.agents.iter().map(cycle_agent).collect()),
            running,
            pending,
            now: Some(self.now),
            cycle: options,
            explain,
        };
        let mut answer = simulation.run(self.now).map_err(fault_of_request)?;
        if !facts.agents.is_empty() && lost > 0 {
            answer.warnings.push(warn_of_unplaced(lost));
        }
        Ok(answer)
    }

    /// The queues of the group, with the usage that a history gain reads.
    fn queues(&self) -> Result<Vec<QueueSpec>> {
        let facts = self.facts();
        let division = self.group.published().division(self.now)?;
        let mut queues = QueueSpec::of_group(&facts.queues);
        for queue in &mut queues {
            let figures = division.tree.find(&queue.config.name).map(|at| division.figures(at));
            queue.given.usage = figures.and_then(|figures| figures.usage).unwrap_or_default();
        }
        Ok(queues)
    }

    /// The owners of the workloads, as far as they are named.
    fn owners(&self, pending: &PendingList) -> Result<Vec<NamedOwner>> {
        let mut faults = owner_faults(pending);
        let people = self.service.people();
        let mut owners = Vec::with_capacity(pending.elements.len());
        for (at, workload) in pending.elements.iter().enumerate() {
            let place = |key: &str| format!("{}/owner/{key}", pending.pointer("/pending", at));
            let user = workload.owner.user.as_deref().map(|name| lookup::user_of_text(&people, name, &place("user")));
            let project =
                workload.owner.project.as_deref().map(|name| lookup::project_of_text(&people, name, &place("project")));
            match (user.transpose(), project.transpose()) {
                (Ok(user), Ok(project)) => owners.push(NamedOwner { user, project }),
                (user, project) => faults.extend(user.err().into_iter().chain(project.err())),
            }
        }
        if faults.is_empty() { Ok(owners) } else { Err(Error::Invalid(faults)) }
    }

    /// The workloads in the group's order. Each needs an owner.
    fn ordered(&self, pending: &PendingList, owners: &[NamedOwner]) -> Result<SequencedWorkloads<'static>> {
        let missing = |at: usize| {
            let said = "needs `user` and `project`, because the order of the group is one of owners";
            Fault::about(format!("{}/owner", pending.pointer("/pending", at)), "required", said)
        };
        let (mut workloads, mut faults) = (Vec::with_capacity(owners.len()), Vec::new());
        for (at, (workload, owner)) in pending.elements.iter().zip(owners).enumerate() {
            match *owner {
                NamedOwner { user: Some(user), project: Some(project) } => {
                    workloads.push(pending_workload(workload, Member { user, project }));
                }
                _ => faults.push(missing(at)),
            }
        }
        if !faults.is_empty() {
            return Err(Error::Invalid(faults));
        }
        let input = SequenceInput { workloads, ..SequenceInput::default() };
        self.service.order_of(self.group.clone(), input, self.now)
    }

    /// Names the kernel of each member that starts.
    fn name_kernels(&self, answer: &mut CycleAnswer) {
        for start in &mut answer.starts {
            let workloads = &self.assessed.workloads;
            let Ok(place) = workloads.binary_search_by(|workload| workload.id.cmp(&start.workload_id)) else {
                continue;
            };
            let kernels: Vec<&LiveKernel> = workloads[place].waiting_kernels().collect();
            for member in &mut start.members {
                member.kernel_id = kernels.get(member.member).map(|kernel| kernel.id.to_string());
            }
        }
    }
}

/// The faults that lie in the workloads of the request. All else is the group's own, and cannot be mended in the request.
fn fault_of_request(faults: Vec<Fault>) -> Error {
    let of_request = |fault: &Fault| fault.pointer.starts_with("/pending");
    let asked: Vec<Fault> = faults.iter().filter(|fault| of_request(fault)).cloned().collect();
    if asked.is_empty() { Error::not_divisible(faults) } else { Error::Invalid(asked) }
}

fn positions(sequenced: &SequencedWorkloads) -> OrderPositions {
    sequenced.ids().map(str::to_owned).zip(1..).collect()
}

fn cycle_agent(agent: &StoredAgent) -> CycleAgent {
    CycleAgent {
        agent_id: Arc::from(agent.agent_id.as_str()),
        available_slots: agent.available_slots.clone(),
        labels: agent.labels.clone(),
        schedulable: agent.offers(),
        taints: agent.taints.clone(),
    }
}

/// The run time that is learned of the owner's ended kernels, in whole seconds, rounded up, and at most as long as an expected one;
/// `None`: none has ended.
pub(in crate::service) fn learned_seconds(facts: &GroupSnapshotData, owner: Member) -> Option<i64> {
    let micros = facts.rows.user(owner)?.share.run_times().mean_micros()?;
    let seconds = i64::try_from(micros.div_ceil(MICROS_PER_SECOND.unsigned_abs())).unwrap_or(i64::MAX);
    Some(seconds.clamp(1, seconds::MAX_SECONDS.into()))
}

/// A workload of a request as a sequence takes it.
fn pending_workload(workload: &CyclePending, owner: Member) -> PendingWorkload<'static> {
    PendingWorkload {
        submitted_at: workload.submitted_at,
        priority: workload.priority,
        queue: workload.queue.as_deref().map(|queue| Cow::Owned(queue.to_owned())),
        requested_slots: Some(Box::new(requested_slots(workload))),
        expected_seconds: workload.expected_seconds.and_then(|seconds| u32::try_from(seconds).ok()),
        ..PendingWorkload::of_owner(Cow::Owned(workload.workload_id.to_string()), owner)
    }
}

/// The slots that all members ask for.
fn requested_slots(workload: &CyclePending) -> SlotAmounts {
    let mut sum = SlotAmounts::default();
    for member in &workload.members {
        let count = u128::try_from(member.count).unwrap_or_default();
        let times = |(slot, amount): (_, Amount)| (slot, Amount::from_units(amount.units().saturating_mul(count)));
        sum.add(&member.slots.iter().map(times).collect());
    }
    sum
}

/// The reason of a gang of which members are not reported yet.
fn wait_for_members(workload: &LiveWorkload) -> CycleWaiting {
    let reported = usize::try_from(workload.members.counts().pending).unwrap_or(usize::MAX);
    let minimum = workload.members.gang_min().and_then(|minimum| usize::try_from(minimum).ok());
    CycleWaiting {
        workload_id: Arc::clone(&workload.members.id),
        queue: Arc::clone(&workload.queue),
        position: None,
        members: reported,
        started: false,
        reason: WaitReason::Gang,
        details: WaitDetails::Gang { fit: 0, minimum: minimum.unwrap_or(reported), reported: Some(reported) },
        blocked_by: Vec::new(),
        reserved_at: None,
    }
}
