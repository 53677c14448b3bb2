//! The outcome of a cycle in which one reported workload is different.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::group_options;
use super::live_input::LiveInput;
use crate::api::sequence::PendingWorkload;
use crate::domain::cycle::{CycleAnswer, CyclePending};
use crate::domain::decimal::Amount;
use crate::domain::division::exact::mul_div_up;
use crate::domain::reading::seconds;
use crate::domain::slots::SlotAmounts;
use crate::domain::time::Timestamp;
use crate::service::reported_workloads::assessed_workloads;
use crate::service::sequence::pending::ReportedWorkloads;
use crate::service::sequence::waiting::find_waiting;
use crate::service::visible_group::VisibleGroup;
use crate::service::workloads::answer::WaitingState;
use crate::service::workloads::ranked::is_visible_workload;
use crate::service::{Caller, Error, Fault, RequestFaults, Result, Service};

/// A change of one workload, for one answer alone. Keys that are absent change nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({"slots_part": "0.5", "expected_seconds": 3600}))]
pub struct WorkloadChange {
    /// True: no other workload waits.
    pub alone: bool,
    pub priority: Option<i32>,
    /// The part of its slots that each member asks for: above 0, at most 1.
    pub slots_part: Option<Amount>,
    /// How long it will run, 1 to 31536000 seconds.
    #[schema(minimum = 1, maximum = 31_536_000)]
    pub expected_seconds: Option<u32>,
    pub preemptible: Option<bool>,
    /// A queue of the group.
    pub queue: Option<String>,
}

/// The outcome of one cycle for a workload.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "workload_id": "training-7", "starts": true, "action": "backfill", "agents": ["node-01"], "evicted_kernels": 0,
    "waiting": null, "as_of": "2026-01-13T10:00:00Z"
}))]
pub struct WorkloadWhatIf {
    pub workload_id: String,
    /// True if the minimum of its members would start.
    pub starts: bool,
    /// The action that would start it: `allocate`, `backfill`, `reclaim` or `preempt`; `null`: it would not start.
    pub action: Option<&'static str>,
    /// The agents of the members that would start; empty if it would not start, if nothing is known of agents, and for keys of users.
    #[schema(value_type = Vec<String>)]
    pub agents: Vec<Arc<str>>,
    /// The number of kernels that would be evicted for it.
    pub evicted_kernels: usize,
    /// The reason why members of it would wait; `null`: none would.
    pub waiting: Option<WaitingState>,
    #[schema(value_type = String, format = DateTime)]
    pub as_of: Timestamp,
}

impl WorkloadChange {
    fn check(&self, caller: &Caller, group: &VisibleGroup) -> Result<()> {
        let mut faults = RequestFaults::default();
        if self.queue.is_some() && caller.only_user().is_some() {
            faults.push(Fault::about("/queue", "not_applicable", "is not for keys of users, who do not see queues"));
            return faults.or(());
        }
        if self.slots_part.is_some_and(|part| part.is_zero() || part > Amount::ONE) {
            faults.push(Fault::about("/slots_part", "out_of_range", "must be above 0 and at most 1"));
        }
        if let Some(said) = self.expected_seconds.and_then(seconds::fault) {
            faults.push(Fault::about("/expected_seconds", "out_of_range", said));
        }
        if let Some(name) = self.queue.as_deref().filter(|name| !group.published().facts.has_queue(name)) {
            faults.push(Fault::new("/queue", "unknown_queue", format!("there is no queue {name:?}")));
        }
        faults.or(())
    }

    /// Changes the pending workloads of a cycle, of which one has the id.
    fn apply(&self, id: &str, pending: &mut Vec<CyclePending>) {
        pending.retain(|workload| !self.alone || *workload.workload_id == *id);
        let Some(workload) = pending.iter_mut().find(|workload| *workload.workload_id == *id) else { return };
        if let Some(queue) = self.queue.as_deref() {
            workload.queue = Some(Arc::from(queue));
        }
        workload.priority = self.priority.unwrap_or(workload.priority);
        workload.preemptible = self.preemptible.unwrap_or(workload.preemptible);
        workload.expected_seconds = self.expected_seconds.map(i64::from).or(workload.expected_seconds);
        for member in &mut workload.members {
            member.slots = self.slots(&member.slots);
        }
    }

    /// Changes the workload as the order of the group looks at it.
    fn apply_to_ordered(&self, workload: &mut PendingWorkload<'static>) {
        workload.priority = self.priority.unwrap_or(workload.priority);
        workload.expected_seconds = self.expected_seconds.or(workload.expected_seconds);
        if let Some(queue) = &self.queue {
            workload.queue = Some(queue.clone().into());
        }
        let asked = workload.requested_slots.take();
        workload.requested_slots = asked.map(|slots| Box::new(self.slots(&slots)));
    }

    /// The slots that are asked for in place of these.
    fn slots(&self, asked: &SlotAmounts) -> SlotAmounts {
        let part = self.slots_part.unwrap_or(Amount::ONE).units();
        let of = |amount: Amount| Amount::from_units(mul_div_up(amount.units(), part, Amount::ONE.units()));
        asked.iter().map(|(slot, amount)| (slot, of(amount))).collect()
    }
}

impl Service {
    /// Shows if a reported workload would start if it were different. Keys of users may ask about workloads of their own users.
    #[tracing::instrument(
        name = "service.cycle_plans.workload_what_if",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn workload_what_if(
        &self,
        caller: &Caller,
        group: &str,
        id: &str,
        change: WorkloadChange,
    ) -> Result<WorkloadWhatIf> {
        let group = self.group(caller, group)?;
        let kernels = self.live_kernels(group.published()).await?;
        let now = self.clock().now();
        let work = || {
            let assessed = assessed_workloads(group.published(), &kernels);
            let unknown = || {
                let detail = format!("there is no workload {id:?} in {:?} that waits", group.name);
                Error::NotFound { code: "unknown_workload", detail }
            };
            let (place, _) = find_waiting(&group, &assessed, id).ok_or_else(unknown)?;
            let id = &*assessed.workloads[place].id;
            change.check(caller, &group)?;
            let mut ordered = ReportedWorkloads::startable(&assessed);
            ordered.change(id, |workload| change.apply_to_ordered(workload));
            let input = LiveInput { service: self, group: &group, assessed: &assessed, now };
            let answer = input.run_changed(group_options(&group), false, ordered, |pending| change.apply(id, pending));
            let is_visible = |other: &str| is_visible_workload(&group, &assessed, other);
            let outcome = WorkloadWhatIf::of(id, &answer.map_err(at_change)?, now, is_visible);
            // Keys of users do not see agents.
            let agents = if caller.only_user().is_some() { Vec::new() } else { outcome.agents };
            Ok(WorkloadWhatIf { agents, ..outcome })
        };
        self.permits.run(caller.client(), work).await
    }
}

/// Converts pointers of faults: the only part of the input that a change can spoil is the queue of the workload.
fn at_change(error: Error) -> Error {
    let Error::Invalid(faults) = error else { return error };
    Error::Invalid(faults.into_iter().map(|fault| Fault { pointer: "/queue".to_owned(), ..fault }).collect())
}

impl WorkloadWhatIf {
    fn of(id: &str, answer: &CycleAnswer, as_of: Timestamp, is_visible: impl Fn(&str) -> bool) -> Self {
        let starts: Vec<_> = answer.starts.iter().filter(|start| *start.workload_id == *id).collect();
        let members = starts.iter().flat_map(|start| &start.members);
        let evictions = answer.evictions.iter().filter(|eviction| *eviction.beneficiary == *id);
        let waiting = answer.waiting.iter().find(|waiting| *waiting.workload_id == *id);
        Self {
            workload_id: id.to_owned(),
            starts: !starts.is_empty(),
            action: starts.first().map(|start| start.action),
            agents: members.filter_map(|member| member.agent_id.clone()).collect(),
            evicted_kernels: evictions.map(|eviction| eviction.victim.kernel_ids.len()).sum(),
            waiting: waiting.map(|waiting| WaitingState::of_cycle(waiting, as_of, is_visible)),
            as_of,
        }
    }
}
