//! Workloads, and what running kernels hold, as GraphQL shows them.

use std::sync::Arc;

use async_graphql::{Enum, SimpleObject};

use super::{HelpfulChangeNode, StartForecastNode};
use crate::domain::workloads::{MemberCounts, WorkloadStatus};
use crate::graphql::scalars::{DateTime, JsonString, Uuid};
use crate::service::Caller;
use crate::service::occupancy::{GroupOccupancy, OccupancyItem};
use crate::service::workloads::answer::{StatusChangeView, WaitingState, WorkloadItem};

/// The status of a workload.
#[derive(Enum, Clone, Copy, Debug, PartialEq, Eq)]
#[graphql(name = "WorkloadStatus", rename_items = "SCREAMING_SNAKE_CASE", remote = "WorkloadStatus")]
pub enum WorkloadStatusName {
    /// No member runs, and some wait.
    Pending,
    /// Some members run, fewer than the minimum.
    Starting,
    /// The minimum runs.
    Running,
    /// All members have ended.
    Ended,
}

/// A gang of kernels, or the kernels of a session where there is no gang.
#[derive(SimpleObject)]
#[graphql(name = "Workload", rename_fields = "snake_case")]
pub struct WorkloadNode {
    /// The gang, otherwise the session.
    workload_id: String,
    status: WorkloadStatusName,
    /// The domain of its project.
    domain_name: String,
    project_id: Uuid,
    /// The name that is shown beside the id; null without one.
    project: Option<Arc<str>>,
    user_uuid: Uuid,
    /// The name that is shown beside the id; null without one.
    user: Option<Arc<str>>,
    /// The queue that it counts for.
    queue: String,
    /// The highest of its members.
    priority: i32,
    /// True if a plan may evict each of its members.
    preemptible: bool,
    members: WorkloadMemberCounts,
    /// The number of members that have to run together; null: all.
    gang_min: Option<u32>,
    /// The slots of members that have not ended; of an ended workload, those of all members.
    requested_slots: JsonString,
    /// The slots that running members hold.
    held_slots: JsonString,
    /// Texts by name.
    labels: JsonString,
    /// The class by which its usage is charged; empty: it has none.
    charge_class: String,
    /// Null: no report said so.
    submitted_at: Option<DateTime>,
    /// The longest of its members; null: not known of each of them.
    expected_seconds: Option<u32>,
    /// The times at which it got its status and those before it, as far as they are known.
    status_changes: Vec<WorkloadStatusChange>,
    /// The time since which members wait for the minimum; null: the minimum runs, or it is not known.
    waiting_since: Option<DateTime>,
    /// From 1, in the order in which the group's scheduler would start what waits; null: nothing of it waits, or it can never start.
    position: Option<u64>,
    /// The reason why it waits, as the newest scheduling cycle of the group found it; null: nothing of it waits, or it could start now.
    waiting: Option<WorkloadWaiting>,
    /// The time at which it will start; null: nothing of it waits, or no forecast was made in the last ten minutes.
    forecast: Option<StartForecastNode>,
    /// The changes with which it would start earlier, each by itself; null unless asked for.
    helps: Option<Vec<HelpfulChangeNode>>,
    /// Workloads of the group ascend by it as they became known, which decides between equals that wait; null: nothing of it waits, or
    /// the key is that of a user.
    known_order: Option<i64>,
    /// The kernels by id, at most 1,000; null in lists.
    kernel_ids: Option<Vec<Uuid>>,
}

/// The numbers of kernels of a workload, by what they do. Suspended ones count as running.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case")]
pub struct WorkloadMemberCounts {
    total: u64,
    pending: u64,
    running: u64,
    ended: u64,
}

/// The time at which a workload got a status.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case")]
pub struct WorkloadStatusChange {
    status: WorkloadStatusName,
    at: DateTime,
}

/// The reason why a workload waits.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case")]
pub struct WorkloadWaiting {
    /// As in the answer of a scheduling cycle. A workload that waits without a position can never start as it is.
    reason: String,
    /// The numbers of the reason, by name.
    details: JsonString,
    /// The workloads that it waits for.
    blocked_by: Vec<String>,
    /// The time from which on room is kept for it.
    reserved_at: Option<DateTime>,
    /// The time at which this was found.
    as_of: DateTime,
}

impl WorkloadNode {
    pub fn new(item: WorkloadItem, caller: &Caller) -> Self {
        let MemberCounts { total, pending, running, ended } = item.members;
        let change = |StatusChangeView { status, at }| WorkloadStatusChange { status: status.into(), at: DateTime(at) };
        Self {
            workload_id: item.workload_id,
            status: item.status.into(),
            domain_name: item.domain_name,
            project_id: Uuid(item.project_id),
            project: item.project,
            user_uuid: Uuid(item.user_uuid),
            user: item.user,
            queue: item.queue,
            priority: item.priority,
            preemptible: item.preemptible,
            members: WorkloadMemberCounts { total, pending, running, ended },
            gang_min: item.gang_min,
            requested_slots: JsonString::of(&item.requested_slots),
            held_slots: JsonString::of(&item.held_slots),
            labels: JsonString::of(&item.labels),
            charge_class: item.charge_class,
            submitted_at: item.submitted_at.map(DateTime),
            expected_seconds: item.expected_seconds,
            status_changes: item.status_changes.into_iter().map(change).collect(),
            waiting_since: item.waiting_since.map(DateTime),
            position: item.position,
            waiting: item.waiting.as_ref().map(WorkloadWaiting::of),
            forecast: item.forecast.map(StartForecastNode::from),
            helps: item.helps.map(|helps| helps.into_iter().map(HelpfulChangeNode::from).collect()),
            // It would reveal how many kernels others have.
            known_order: item.known_order.filter(|_| caller.only_user().is_none()),
            kernel_ids: item.kernel_ids.map(|ids| ids.into_iter().map(Uuid).collect()),
        }
    }
}

impl WorkloadWaiting {
    pub fn of(waiting: &WaitingState) -> Self {
        Self {
            reason: waiting.reason.as_str().to_owned(),
            details: JsonString::of(&waiting.details),
            blocked_by: waiting.blocked_by.iter().map(ToString::to_string).collect(),
            reserved_at: waiting.reserved_at.map(DateTime),
            as_of: DateTime(waiting.as_of),
        }
    }
}

/// The slots that running kernels hold, and those that are free.
#[derive(SimpleObject)]
#[graphql(name = "Occupancy", rename_fields = "snake_case")]
pub struct OccupancyNode {
    /// The kind of the holders.
    by: String,
    /// The one with the largest share of a slot first, then by name.
    pub items: Vec<OccupancyRow>,
    capacity: JsonString,
    held: JsonString,
    free: JsonString,
    as_of: DateTime,
}

/// The slots that a domain, a project, a user, a queue or an agent holds.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case")]
pub struct OccupancyRow {
    /// Null: kernels of which no agent is reported.
    name: Option<String>,
    /// The UUID of a project or user.
    row_id: Option<Uuid>,
    held: JsonString,
    /// By slot: which part of the group's capacity that is.
    share: JsonString,
    /// Kernels that run.
    running: u64,
    /// Kernels that wait.
    pending: u64,
    /// The slots of an agent that nothing holds; null for other holders.
    free: Option<JsonString>,
    /// True if an agent is up and takes work; null for other holders.
    schedulable: Option<bool>,
}

impl From<GroupOccupancy> for OccupancyNode {
    fn from(occupancy: GroupOccupancy) -> Self {
        let GroupOccupancy { by, items, capacity, held, free, as_of } = occupancy;
        let row = |item: OccupancyItem| OccupancyRow {
            name: item.name,
            row_id: item.id.map(Uuid),
            held: JsonString::of(&item.held),
            share: JsonString::of(&item.share),
            running: item.running,
            pending: item.pending,
            free: item.free.as_ref().map(JsonString::of),
            schedulable: item.schedulable,
        };
        Self {
            by: by.as_str().to_owned(),
            items: items.into_iter().map(row).collect(),
            capacity: JsonString::of(&capacity),
            held: JsonString::of(&held),
            free: JsonString::of(&free),
            as_of: DateTime(as_of),
        }
    }
}
