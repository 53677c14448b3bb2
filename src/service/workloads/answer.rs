//! Workloads as all interfaces show them.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::cycle::{CycleWaiting, RefusingPredicates, WaitDetails, WaitReason};
use crate::domain::decimal::Amount;
use crate::domain::placement_rules::Labels;
use crate::domain::slots::SlotAmounts;
use crate::domain::time::Timestamp;
use crate::domain::workloads::{ImpedimentScope, MemberCounts, StartImpediment, WorkloadStatus};
use crate::service::forecasts::answer::{ForecastView, HelpfulChange};
use crate::service::forecasts::group_forecasts::GroupForecasts;

/// A gang of kernels, or the kernels of a session where there is no gang.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "workload_id": "training-7", "status": "pending", "domain_name": "research",
    "project_id": "0b8a1c52-7c59-4d6f-8d1e-5b2a3c4d5e6f", "project": "vision",
    "user_uuid": "6f0c8f3e-5b0c-4f0d-9a55-1d2f3c4b5a69", "user": "alice", "queue": "vision", "priority": 0,
    "preemptible": true, "members": {"total": 4, "pending": 4, "running": 0, "ended": 0}, "gang_min": 4,
    "requested_slots": {"cuda.device": "5000"}, "held_slots": {}, "labels": {"app": "trainer"}, "charge_class": "high",
    "submitted_at": "2026-01-13T09:40:00Z", "expected_seconds": 7200,
    "status_changes": [{"status": "pending", "at": "2026-01-13T09:40:00Z"}], "waiting_since": "2026-01-13T09:40:00Z",
    "position": null, "forecast": {"draws": 64, "not_known_yet": "does_not_fit", "as_of": "2026-01-13T10:00:00Z"},
    "waiting": {
        "reason": "too_large", "details": {"scope": "group", "slot": "cuda.device", "asked": "5000", "most": "8"},
        "blocked_by": [], "reserved_at": null, "as_of": "2026-01-13T10:00:00Z"
    }
}))]
pub struct WorkloadItem {
    /// The gang, otherwise the session.
    pub workload_id: String,
    pub status: WorkloadStatus,
    /// The domain of its project.
    pub domain_name: String,
    pub project_id: Uuid,
    /// The name that is shown beside the id; `null`: the project has none.
    #[schema(value_type = Option<String>)]
    pub project: Option<Arc<str>>,
    pub user_uuid: Uuid,
    /// The name that is shown beside the id; `null`: the user has none.
    #[schema(value_type = Option<String>)]
    pub user: Option<Arc<str>>,
    /// The queue that it counts for.
    pub queue: String,
    /// The highest of its members.
    pub priority: i32,
    /// True if a plan may evict each of its members.
    pub preemptible: bool,
    pub members: MemberCounts,
    /// The number of members that have to run together; `null`: all.
    pub gang_min: Option<u32>,
    /// The slots of members that have not ended; of an ended workload, those of all members.
    #[schema(value_type = BTreeMap<String, String>)]
    pub requested_slots: SlotAmounts,
    /// The slots that running members hold.
    #[schema(value_type = BTreeMap<String, String>)]
    pub held_slots: SlotAmounts,
    pub labels: Labels,
    /// The class by which its usage is charged; empty: it has none.
    pub charge_class: String,
    /// `null`: no report said it.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub submitted_at: Option<Timestamp>,
    /// The longest of its members; `null`: not known of each of them.
    pub expected_seconds: Option<u32>,
    /// The times at which it got its status and those before it, as far as they are known.
    pub status_changes: Vec<StatusChangeView>,
    /// The time since which members wait for the minimum: their submission, otherwise their first report. `null`: the minimum runs, or it is
    /// not known.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub waiting_since: Option<Timestamp>,
    /// From 1, in the order in which the group's scheduler would start what waits; `null`: nothing of it waits, or it can never
    /// start.
    pub position: Option<u64>,
    /// The reason why it waits, as the newest scheduling cycle of the group found it; `null`: nothing of it waits, or it could start
    /// now.
    pub waiting: Option<WaitingState>,
    /// The time at which it will start; `null`: nothing of it waits, or no forecast was made in the last ten minutes.
    pub forecast: Option<ForecastView>,
    /// The changes with which it would start earlier, each by itself; only where one workload is asked for with `helps`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub helps: Option<Vec<HelpfulChange>>,
    /// Ascends in the order in which workloads became known, which decides between equals that wait; `None`: nothing of it waits.
    #[serde(skip)]
    pub known_order: Option<i64>,
    /// The kernels by id, at most 1,000; only where one workload is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub kernel_ids: Option<Vec<Uuid>>,
}

impl WorkloadItem {
    /// The same with its forecast, if it waits.
    #[must_use]
    pub fn with_forecast(self, forecasts: Option<&GroupForecasts>) -> Self {
        let forecast = forecasts.filter(|_| self.members.pending > 0).and_then(|made| made.view(&self.workload_id));
        Self { forecast, ..self }
    }
}

/// The time at which a workload got a status.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct StatusChangeView {
    pub status: WorkloadStatus,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

/// The reason why a workload waits.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WaitingState {
    pub reason: WaitReason,
    /// The numbers of the reason.
    pub details: WaitDetails,
    /// The workloads that it waits for. Keys of users see those of their own users.
    #[schema(value_type = Vec<String>)]
    pub blocked_by: Vec<Arc<str>>,
    /// The time from which on room is kept for it.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub reserved_at: Option<Timestamp>,
    /// The time at which this was found.
    #[schema(value_type = String, format = DateTime)]
    pub as_of: Timestamp,
}

impl WaitingState {
    /// The state of a workload that can never start as it is.
    pub fn of(impediment: &StartImpediment, as_of: Timestamp) -> Self {
        let (reason, details) = reason_of(impediment);
        Self { reason, details, blocked_by: Vec::new(), reserved_at: None, as_of }
    }

    /// The state that a cycle has found. `is_visible` says of other workloads whether they may be named.
    pub fn of_cycle(waiting: &CycleWaiting, as_of: Timestamp, is_visible: impl Fn(&str) -> bool) -> Self {
        let CycleWaiting { reason, ref details, ref blocked_by, ref reserved_at, .. } = *waiting;
        let blocked_by = blocked_by.iter().filter(|id| is_visible(id)).map(Arc::clone).collect();
        let reserved_at = reserved_at.as_deref().and_then(|text| text.parse().ok());
        Self { reason, details: details.clone(), blocked_by, reserved_at, as_of }
    }
}

fn reason_of(impediment: &StartImpediment) -> (WaitReason, WaitDetails) {
    match impediment {
        StartImpediment::TooLarge { scope, slot, asked, most } => {
            let queue = match scope {
                ImpedimentScope::Queue(name) => Some(Arc::clone(name)),
                ImpedimentScope::Agent | ImpedimentScope::Group | ImpedimentScope::Members => None,
            };
            let slot = Some(slot.as_str());
            let details = WaitDetails::TooLarge { scope: scope.as_str(), slot, asked: *asked, most: *most, queue };
            (WaitReason::TooLarge, details)
        }
        StartImpediment::TooManyMembers { asked, most } => {
            let (asked, most) = (Amount::whole(*asked), Amount::whole(*most));
            let scope = ImpedimentScope::Members.as_str();
            (WaitReason::TooLarge, WaitDetails::TooLarge { scope, slot: None, asked, most, queue: None })
        }
        StartImpediment::Predicates { refused, agents } => {
            let number = |count: &u64| usize::try_from(*count).unwrap_or(usize::MAX);
            let refused = refused.iter().map(|(name, count)| (*name, number(count))).collect();
            let refusing = RefusingPredicates { refused, agents: number(agents) };
            (WaitReason::Predicates, WaitDetails::Predicates(refusing))
        }
    }
}
