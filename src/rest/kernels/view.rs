//! Kernels and their slices as REST shows them.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::kernel::{Kernel, KernelReport};
use crate::domain::placement_rules::{Affinity, Labels, PlacementRules, Toleration};
use crate::domain::slots::{SlotAmounts, SlotUsages};
use crate::domain::time::{Day, TimeSpan, Timestamp};
use crate::engine::people::PeopleDirectory;
use crate::service::kernels::StoredRecord;

/// A kernel as it is known.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "kernel_id": "2b1f6c1e-9d57-4a1e-8b0e-6a3c0f1d2e4b", "session_id": "8e2f4a6b-1c3d-4e5f-8a9b-0c1d2e3f4a5b",
    "user_uuid": "6f0c8f3e-5b0c-4f0d-9a55-1d2f3c4b5a69", "project_id": "0b8a1c52-7c59-4d6f-8d1e-5b2a3c4d5e6f",
    "user_name": "alice", "project_name": "climate", "domain_name": "research",
    "occupied_slots": {"cpu": "4", "cuda.device": "1", "mem": "17179869184"}, "status": "TERMINATED",
    "status_at": "2026-01-13T10:30:00Z", "started_at": "2026-01-13T10:00:00Z", "terminated_at": "2026-01-13T11:00:00Z",
    "end_inferred": false, "last_usage_recorded_at": "2026-01-13T11:00:00Z", "expected_seconds": 7200,
    "charge_class": "high", "submitted_at": "2026-01-13T09:40:00Z", "labels": {"app": "trainer"}, "tolerations": [{"key": "gpu", "operator": "Exists"}],
    "affinity": {"agents": [{"key": "gpu", "operator": "In", "values": ["a100"]}]}, "agent_id": "node-01", "agent_ids": ["node-01"],
    "queue": "vision", "priority": 0, "preemptible": true, "critical": false, "gang_id": null,
    "gang_min": null
}))]
pub struct KernelView {
    pub kernel_id: Uuid,
    pub session_id: Uuid,
    pub user_uuid: Uuid,
    pub project_id: Uuid,
    /// The names to show beside the ids, if there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub user_name: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub project_name: Option<Arc<str>>,
    pub domain_name: String,
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub occupied_slots: SlotAmounts,
    /// `PENDING`, `RUNNING`, `SUSPENDED` or `TERMINATED`.
    pub status: &'static str,
    /// Since when it is suspended, or runs again; `null` if it never was suspended.
    pub status_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub terminated_at: Option<Timestamp>,
    /// True if no report gave the end: a snapshot or a time-out set it.
    pub end_inferred: bool,
    /// Usage before it is recorded.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_usage_recorded_at: Option<Timestamp>,
    /// How long it was said to run from its start; `null`: no report said so.
    pub expected_seconds: Option<u32>,
    /// The charge class that usage is recorded with from now on; empty: none.
    pub charge_class: String,
    /// `null`: no report said it.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub submitted_at: Option<Timestamp>,
    pub labels: Labels,
    pub tolerations: Vec<Toleration>,
    /// `null`: it has none.
    pub affinity: Option<Affinity>,
    /// Where it runs, if that is one agent; `null`: several, or not reported.
    pub agent_id: Option<String>,
    /// All agents that it runs on, in the order of the report.
    pub agent_ids: Vec<String>,
    pub queue: Option<String>,
    pub priority: i32,
    pub preemptible: bool,
    pub critical: bool,
    pub gang_id: Option<String>,
    pub gang_min: Option<u32>,
}

impl KernelView {
    pub fn new(kernel: Kernel, people: &PeopleDirectory) -> Self {
        let Kernel { report, cursor, end_inferred, .. } = kernel;
        let (user_name, project_name) = people.names(report.owner);
        let traits = report.traits;
        let PlacementRules { labels, tolerations, affinity } = report.rules.map(|rules| *rules).unwrap_or_default();
        Self {
            kernel_id: report.id.0,
            session_id: report.session.0,
            user_uuid: report.owner.user.0,
            project_id: report.owner.project.0,
            user_name,
            project_name,
            domain_name: report.domain,
            occupied_slots: report.slots,
            status: report.phase.as_str(),
            status_at: report.changes.last(),
            started_at: report.started_at,
            terminated_at: report.terminated_at,
            end_inferred,
            last_usage_recorded_at: cursor,
            expected_seconds: report.expected_seconds,
            charge_class: report.charge_class.unwrap_or_default(),
            submitted_at: report.submitted_at,
            labels,
            tolerations,
            affinity: Some(affinity).filter(|affinity| !affinity.is_empty()),
            agent_id: traits.agents.only().cloned(),
            agent_ids: traits.agents.names().to_vec(),
            queue: traits.queue,
            priority: traits.priority,
            preemptible: traits.preemptible,
            critical: traits.critical,
            gang_id: traits.gang_id,
            gang_min: traits.gang_min,
        }
    }
}

/// One slice: usage of one kernel within one day.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "period_start": "2026-01-13T10:00:00Z", "period_end": "2026-01-13T11:00:00Z",
    "charge_class": "high",
    "resource_usage": {"cpu": "12000", "cuda.device": "3000", "mem": "51539607552000"}, "compacted": false
}))]
pub struct SliceView {
    #[schema(value_type = String, format = DateTime)]
    pub period_start: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub period_end: Timestamp,
    /// The charge class of the kernel when the usage was recorded; empty: none.
    #[schema(value_type = String)]
    pub charge_class: Arc<str>,
    /// Slot-seconds.
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub resource_usage: SlotUsages,
    /// True if it stands for several merged slices of the same slots and class.
    pub compacted: bool,
}

impl From<StoredRecord> for SliceView {
    fn from(record: StoredRecord) -> Self {
        let TimeSpan { start, end } = record.span();
        let (resource_usage, compacted) = (record.usage(), record.is_compacted());
        let charge_class = Arc::clone(&record.dimensions.charge_class);
        Self { period_start: start, period_end: end, charge_class, resource_usage, compacted }
    }
}

/// A time in which a kernel used and held nothing.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"from": "2026-01-13T10:20:00Z", "until": "2026-01-13T10:30:00Z"}))]
pub struct SuspensionView {
    pub from: Timestamp,
    /// `null`: it lasts.
    pub until: Option<Timestamp>,
}

impl SuspensionView {
    pub fn of(kernel: &Kernel) -> Vec<Self> {
        let KernelReport { started_at, terminated_at, changes, .. } = &*kernel.report;
        let whole = started_at.and_then(|start| TimeSpan::new(start, terminated_at.unwrap_or(Timestamp::MAX)));
        let spans = whole.into_iter().flat_map(|whole| changes.suspended(whole));
        spans.map(|span| Self { from: span.start, until: Some(span.end).filter(|t| *t < Timestamp::MAX) }).collect()
    }
}

/// A kernel with its slices by start.
#[derive(Debug, Serialize, ToSchema)]
pub struct KernelWithSlices {
    #[serde(flatten)]
    pub kernel: KernelView,
    /// When it was suspended, by time.
    pub suspensions: Vec<SuspensionView>,
    pub slices: Vec<SliceView>,
    /// The kernel started before this day, and the slices of earlier days were purged; `null`: all of them are here.
    #[schema(value_type = Option<String>, format = Date)]
    pub records_from: Option<Day>,
}
