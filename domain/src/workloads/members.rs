//! The members of a workload, and what follows from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::impediment::MemberDemand;
use crate::ids::KernelKey;
use crate::kernel::KernelPhase;
use crate::queues::LiveKernel;
use crate::slots::SlotAmounts;
use crate::time::Timestamp;

/// The status of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkloadStatus {
    /// No member runs, and some wait.
    Pending,
    /// Some members run, fewer than the minimum.
    Starting,
    /// The minimum runs.
    Running,
    /// All members have ended.
    Ended,
}

impl WorkloadStatus {
    pub const ALL: [Self; 4] = [Self::Pending, Self::Starting, Self::Running, Self::Ended];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Ended => "ended",
        }
    }
}

/// The time at which a workload got a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusChange {
    pub status: WorkloadStatus,
    pub at: Timestamp,
}

/// The number of members by what they do. Suspended ones count as running, because they have started and not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct MemberCounts {
    pub total: u64,
    pub pending: u64,
    pub running: u64,
    pub ended: u64,
}

/// A kernel of a workload.
#[derive(Clone, Debug)]
pub struct WorkloadMember {
    pub kernel: Arc<LiveKernel>,
    /// `None`: it has not ended.
    pub ended_at: Option<Timestamp>,
}

impl WorkloadMember {
    fn is_pending(&self) -> bool {
        self.ended_at.is_none() && self.kernel.phase == KernelPhase::Pending
    }

    fn is_running(&self) -> bool {
        self.ended_at.is_none() && self.kernel.phase != KernelPhase::Pending
    }

    /// A suspended member has started and holds nothing.
    fn holds_slots(&self) -> bool {
        self.ended_at.is_none() && self.kernel.phase == KernelPhase::Running
    }

    /// The time since which it waited or waits: its submission, otherwise its first report.
    fn waits_since(&self) -> Option<Timestamp> {
        self.kernel.submitted_at.or(self.kernel.reported_at)
    }
}

/// A workload: at least one member, by kernel id.
#[derive(Clone, Debug)]
pub struct WorkloadMembers {
    /// The id of the gang, otherwise that of the session.
    pub id: Arc<str>,
    members: Vec<WorkloadMember>,
}

/// Puts members together into workloads, which are ordered by id.
pub fn group_members(members: impl IntoIterator<Item = WorkloadMember>) -> Vec<WorkloadMembers> {
    let mut found: BTreeMap<String, Vec<WorkloadMember>> = BTreeMap::new();
    for member in members {
        found.entry(member.kernel.workload()).or_default().push(member);
    }
    let workload = |(id, mut members): (String, Vec<WorkloadMember>)| {
        members.sort_unstable_by_key(|member| member.kernel.id);
        WorkloadMembers { id: Arc::from(id), members }
    };
    found.into_iter().map(workload).collect()
}

impl WorkloadMembers {
    pub fn members(&self) -> &[WorkloadMember] {
        &self.members
    }

    /// The member whose owner and queue are those of the workload: the first one that waits, otherwise the first one that
    /// runs, otherwise the first one. `None` only for a workload without members.
    pub fn representative(&self) -> Option<&Arc<LiveKernel>> {
        let first = |is: fn(&WorkloadMember) -> bool| self.members.iter().find(|member| is(member));
        let found = first(WorkloadMember::is_pending).or_else(|| first(WorkloadMember::is_running));
        found.or_else(|| self.members.first()).map(|member| &member.kernel)
    }

    /// The kernels that wait, by id.
    pub fn waiting_kernels(&self) -> impl Iterator<Item = &LiveKernel> {
        self.members.iter().filter(|member| member.is_pending()).map(|member| &*member.kernel)
    }

    /// The kernels that run, by id, without suspended ones.
    pub fn running_kernels(&self) -> impl Iterator<Item = &LiveKernel> {
        self.members.iter().filter(|member| member.holds_slots()).map(|member| &*member.kernel)
    }

    /// The position of the first member that waits among the kernels of the group, by the time at which they became known.
    pub fn known_order(&self) -> Option<KernelKey> {
        self.members.iter().filter(|member| member.is_pending()).filter_map(|member| member.kernel.key).min()
    }

    pub fn counts(&self) -> MemberCounts {
        let count = |is: fn(&WorkloadMember) -> bool| self.members.iter().filter(|m| is(m)).count() as u64;
        let (pending, running) = (count(WorkloadMember::is_pending), count(WorkloadMember::is_running));
        let total = self.members.len() as u64;
        MemberCounts { total, pending, running, ended: total - pending - running }
    }

    /// The reported minimum of members that run together.
    pub fn gang_min(&self) -> Option<u32> {
        self.members.iter().filter_map(|member| member.kernel.gang_min).max()
    }

    /// True if members of a gang are missing that have to run with the others: none runs, and fewer are reported than the
    /// minimum. Such a workload waits for reports and not for room.
    pub fn is_incomplete(&self) -> bool {
        let counts = self.counts();
        counts.running == 0 && self.gang_min().is_some_and(|minimum| u64::from(minimum) > counts.pending)
    }

    /// The number of members that have to run together.
    fn minimum(&self, counts: MemberCounts) -> u64 {
        self.gang_min().map_or(counts.pending + counts.running, u64::from).max(1)
    }

    pub fn status(&self) -> WorkloadStatus {
        let counts = self.counts();
        match (counts.pending, counts.running) {
            (0, 0) => WorkloadStatus::Ended,
            (_, 0) => WorkloadStatus::Pending,
            (0, _) => WorkloadStatus::Running,
            (_, running) if running < self.minimum(counts) => WorkloadStatus::Starting,
            _ => WorkloadStatus::Running,
        }
    }

    /// The times at which the workload got its present status and those before it, as far as they are known. While a member
    /// has not ended, only such members count: an earlier run of the same session is not a part of this one.
    pub fn status_changes(&self) -> Vec<StatusChange> {
        let status = self.status();
        let is_part = |member: &&WorkloadMember| status == WorkloadStatus::Ended || member.ended_at.is_none();
        let members: Vec<&WorkloadMember> = self.members.iter().filter(is_part).collect();
        let mut starts: Vec<Timestamp> = members.iter().filter_map(|member| member.kernel.started_at).collect();
        starts.sort_unstable();
        let minimum = self.gang_min().map_or(members.len(), |min| min.max(1) as usize);
        // Members of a running workload may have ended, so that fewer than the minimum are left.
        let minimum = if status == WorkloadStatus::Running { minimum.clamp(1, starts.len().max(1)) } else { minimum };
        let has_started = status != WorkloadStatus::Pending;
        let running =
            starts.get(minimum.saturating_sub(1)).filter(|_| has_started && status != WorkloadStatus::Starting);
        let starting = starts.first().filter(|first| has_started && running.is_none_or(|running| running > *first));
        let ended = members.iter().filter_map(|member| member.ended_at).max();
        let changes = [
            (WorkloadStatus::Pending, members.iter().filter_map(|member| member.waits_since()).min()),
            (WorkloadStatus::Starting, starting.copied()),
            (WorkloadStatus::Running, running.copied()),
            (WorkloadStatus::Ended, ended.filter(|_| status == WorkloadStatus::Ended)),
        ];
        changes.into_iter().filter_map(|(status, at)| Some(StatusChange { status, at: at? })).collect()
    }

    /// The time since which members wait for the minimum; `None` if the minimum runs, or if the time is unknown.
    pub fn waiting_since(&self) -> Option<Timestamp> {
        let is_below_minimum = matches!(self.status(), WorkloadStatus::Pending | WorkloadStatus::Starting);
        self.waits_since().filter(|_| is_below_minimum)
    }

    /// The time since which members wait, also above a minimum that runs.
    pub fn waits_since(&self) -> Option<Timestamp> {
        self.members.iter().filter(|member| member.is_pending()).filter_map(WorkloadMember::waits_since).min()
    }

    /// The first submission of a member.
    pub fn submitted_at(&self) -> Option<Timestamp> {
        self.members.iter().filter_map(|member| member.kernel.submitted_at).min()
    }

    /// The highest priority of a member.
    pub fn priority(&self) -> i32 {
        self.members.iter().map(|member| member.kernel.priority).max().unwrap_or_default()
    }

    /// True if each member may be evicted.
    pub fn is_preemptible(&self) -> bool {
        self.members.iter().all(|member| member.kernel.preemptible)
    }

    /// The longest announced runtime of a member, if each member has one.
    pub fn expected_seconds(&self) -> Option<u32> {
        let all: Option<Vec<u32>> = self.members.iter().map(|member| member.kernel.expected_seconds).collect();
        all?.into_iter().max()
    }

    /// The slots that members ask for which have not ended; of a workload that has ended, those of all members.
    pub fn requested_slots(&self) -> SlotAmounts {
        let is_over = self.members.iter().all(|member| member.ended_at.is_some());
        self.sum(|member| is_over || member.ended_at.is_none())
    }

    /// The slots that members wait for.
    pub fn waiting_slots(&self) -> SlotAmounts {
        self.sum(WorkloadMember::is_pending)
    }

    /// The slots that running members hold. A suspended member holds nothing.
    pub fn held_slots(&self) -> SlotAmounts {
        self.sum(WorkloadMember::holds_slots)
    }

    fn sum(&self, counts: impl Fn(&WorkloadMember) -> bool) -> SlotAmounts {
        let mut sum = SlotAmounts::default();
        for member in self.members.iter().filter(|member| counts(member)) {
            sum.add(&member.kernel.slots);
        }
        sum
    }

    /// The members that wait, by priority and then by id; and how many of them the next start needs.
    pub fn waiting_members(&self) -> (Vec<MemberDemand<'_>>, usize) {
        let mut waiting: Vec<&LiveKernel> = self.waiting_kernels().collect();
        waiting.sort_by_key(|kernel| std::cmp::Reverse(kernel.priority));
        let counts = self.counts();
        let needed = self.minimum(counts).saturating_sub(counts.running).clamp(1, counts.pending.max(1));
        let members = waiting.into_iter().map(|k| MemberDemand { rules: k.rules.as_deref(), slots: &k.slots });
        (members.collect(), usize::try_from(needed).unwrap_or(usize::MAX))
    }
}
