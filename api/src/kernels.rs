//! Reports of kernels and their answers: as the server reads and writes them, and as clients do.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::defaults::default_true;
use domain::fault::Fault;
use domain::ids::{KernelId, SessionId};
use domain::kernel_agents::{KernelAgents, MAX_AGENTS_OF_KERNEL, ReportedAgents};
use domain::placement_rules::{Affinity, Labels, MAX_TAINTS, Toleration};
use domain::reading::{ReadOnly, at_most, at_most_if_any, seconds};
use domain::reported_status::ReportedStatus;
use domain::reported_time::optional_time;
use domain::slots::{SlotAmounts, resource_slots};
use domain::time::{Day, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::problem::ShownFault;

/// A kernel as a scheduler sends it.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelInput {
    pub kernel_id: Uuid,
    pub session_id: Uuid,
    /// This or `user`.
    pub user_uuid: Option<Uuid>,
    /// The user's name instead of the UUID.
    pub user: Option<String>,
    /// This or `project`.
    pub project_id: Option<Uuid>,
    /// The project's name instead of the UUID; such a report does not move the project to another domain.
    pub project: Option<String>,
    /// The domain that its usage counts for. Where it is left out, that is the domain of the project, or `unknown` until a report
    /// or an admin names one.
    pub domain_name: Option<String>,
    /// Shown beside the id where there is no name.
    pub user_name: Option<String>,
    pub project_name: Option<String>,
    #[serde(deserialize_with = "resource_slots")]
    #[schema(schema_with = domain::schemas::resource_quantities)]
    pub occupied_slots: SlotAmounts,
    #[schema(schema_with = domain::schemas::reported_status)]
    pub status: ReportedStatus,
    #[serde(default, deserialize_with = "optional_time")]
    #[schema(schema_with = domain::schemas::status_time)]
    pub status_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "optional_time")]
    #[schema(schema_with = domain::schemas::start_time)]
    pub started_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "optional_time")]
    #[schema(schema_with = domain::schemas::end_time)]
    pub terminated_at: Option<Timestamp>,
    /// How long it will run from its start, in seconds, for progressive sequences. A number above 31536000 is taken as 31536000,
    /// with a warning. A later report need not repeat it.
    #[schema(minimum = 1)]
    #[serde(default, deserialize_with = "seconds::optional_seconds_of_any_size")]
    pub expected_seconds: Option<u64>,
    /// A class by which its usage is reported, besides owner and domain, such as Slurm's QOS or a priority class of Kubernetes: a
    /// name of at most 64 characters. A later report need not repeat it, may change it for usage that is recorded from then on, and takes it
    /// back with an empty text.
    pub charge_class: Option<String>,
    #[serde(default, deserialize_with = "optional_time")]
    #[schema(schema_with = domain::schemas::submission_time)]
    pub submitted_at: Option<Timestamp>,
    /// Texts by name, at most 64; a later report need not repeat them, nor tolerations and affinity.
    #[serde(default)]
    pub labels: Labels,
    /// The taints of agents on which it may start all the same.
    #[serde(default, deserialize_with = "at_most::<MAX_TAINTS, _, _>")]
    #[schema(max_items = 64)]
    pub tolerations: Vec<Toleration>,
    /// The agents that it needs, and the workloads that it has to be near to or away from.
    pub affinity: Option<Affinity>,
    #[schema(schema_with = domain::schemas::reported_agents)]
    pub agent_id: Option<ReportedAgents>,
    /// The agents as answers have them; counts where `agent_id` names none, and must not differ from it otherwise.
    #[serde(default, deserialize_with = "at_most_if_any::<MAX_AGENTS_OF_KERNEL, _, _>")]
    #[schema(max_items = 10_000)]
    pub agent_ids: Option<Vec<String>>,
    pub queue: Option<String>,
    #[serde(default)]
    pub priority: i32,
    #[serde(default = "default_true")]
    pub preemptible: bool,
    #[serde(default)]
    pub critical: bool,
    pub gang_id: Option<String>,
    pub gang_min: Option<u32>,
    #[serde(default)]
    #[schema(inline)]
    pub last_usage_recorded_at: ReadOnly,
    #[serde(default)]
    #[schema(inline)]
    pub slices: ReadOnly,
    #[serde(default)]
    #[schema(inline)]
    pub suspensions: ReadOnly,
    #[serde(default)]
    #[schema(inline)]
    pub end_inferred: ReadOnly,
    #[serde(default)]
    #[schema(inline)]
    pub records_from: ReadOnly,
}

/// Kernels as an array, or one by itself. A stream of lines (NDJSON, `application/x-ndjson`) holds one such object in each line.
/// `OpenAPI` 3.1 has no schema for streams, so the document lists JSON alone.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(example = json!([
    {
        "kernel_id": "2b1f6c1e-9d57-4a1e-8b0e-6a3c0f1d2e4b", "session_id": "8e2f4a6b-1c3d-4e5f-8a9b-0c1d2e3f4a5b",
        "user_uuid": "6f0c8f3e-5b0c-4f0d-9a55-1d2f3c4b5a69", "project_id": "0b8a1c52-7c59-4d6f-8d1e-5b2a3c4d5e6f",
        "domain_name": "research", "occupied_slots": {"cpu": "4", "mem": "16Gi", "cuda.device": "1"},
        "status": "RUNNING", "started_at": "2026-01-13T10:00:00Z"
    },
    {
        "kernel_id": "7c0e1d2f-3a4b-4c5d-8e6f-9a0b1c2d3e4f", "session_id": "1f2e3d4c-5b6a-4798-8a0b-1c2d3e4f5a6b",
        "user": "bob", "project": "climate", "occupied_slots": {"cpu": 8, "mem_mib": 32000},
        "status": ["RUNNING", "COMPLETING"], "started_at": 1_768_298_400, "submitted_at": "1768298000"
    }
]))]
pub enum KernelsBody {
    Many(Vec<KernelInput>),
    One(Box<KernelInput>),
}

/// The result of an ingest.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(example = json!({
    "accepted": 2, "changed": 2, "rejected": 2, "rejected_codes": {"end_before_start": 2},
    "errors": [{
        "index": 1, "kernel_id": "2b1f6c1e-9d57-4a1e-8b0e-6a3c0f1d2e4b", "count": 2,
        "errors": [{"pointer": "/terminated_at", "code": "end_before_start", "detail": "`terminated_at` lies before `started_at`"}],
        "rows": [
            {"index": 1, "kernel_id": "2b1f6c1e-9d57-4a1e-8b0e-6a3c0f1d2e4b", "pointer": "/1/terminated_at"},
            {"index": 3, "kernel_id": "7c0e1d2f-3a4b-4c5d-8e6f-9a0b1c2d3e4f", "pointer": "/3/terminated_at"}
        ]
    }],
    "warnings": [{
        "code": "unknown_status", "index": 2, "pointer": "/status", "kernels": 1,
        "detail": "the status \"DANCING\" is not known: it is taken as UNKNOWN, which neither starts nor ends a kernel"
    }]
}))]
pub struct IngestAnswer {
    /// Kernels taken, also those that said nothing new.
    pub accepted: u64,
    /// Kernels that are new or not what they were; 0 in a dry run.
    pub changed: u64,
    pub rejected: u64,
    /// How many rows were rejected for the reason that a code names, of all of them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, u64>)]
    pub rejected_codes: BTreeMap<&'static str, u64>,
    /// The rejected rows, at most 10000. Rows with equal errors are one item.
    pub errors: Vec<RejectedItem>,
    /// Warnings about kernels that were taken nevertheless.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<IngestWarning>,
    /// Kernels that ended before the server keeps usage; left out where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<EarlierKernels>,
}

/// Kernels that are taken as day totals: reports count what they used, no share does, and no list has them.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"kernels": 12, "before": "2023-01-10", "source": "earlier-kernels"}))]
pub struct EarlierKernels {
    /// How many reports it is about, also of kernels that the history had already.
    pub kernels: u64,
    /// The day before which they ended.
    #[schema(value_type = String, format = Date)]
    pub before: Day,
    /// The history that has them.
    pub source: &'static str,
}

/// Likely mistakes in reports that were taken all the same.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(example = json!({
    "code": "domain_pinned", "project_id": "3c463428-9408-5142-b5df-ec68e15a9e35", "kernels": 12,
    "detail": "an admin has put the project into the domain \"research\": reports for \"teaching\" count there"
}))]
pub struct IngestWarning {
    /// `domain_pinned`: the project stays in its domain, because an admin has set it, or because groups that the key does not
    /// reach have the project, too. `slot_not_offered`: no agent of the group has the slot. `agent_range`: the name of the agent
    /// looks like a range. `unknown_status`: the status is not known, and counts as `UNKNOWN`, or a word of it is left out.
    /// `expected_seconds_shortened`: it is above a year, and counts as a year. `more_warnings`: others are not listed.
    pub code: &'static str,
    pub detail: String,
    /// The place of the first such report in the array, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub index: Option<u64>,
    /// The line of the first such report in the stream, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub line: Option<u64>,
    /// JSON pointer into the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub pointer: Option<String>,
    /// The project, if the warning is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub project_name: Option<Arc<str>>,
    /// How many reports it is about.
    pub kernels: u64,
}

/// Rows with equal errors that were not taken; the others were.
#[derive(Debug, Serialize, ToSchema)]
pub struct RejectedItem {
    /// The place of the first row in the array, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// The line of the first row in the stream, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The kernel of the first row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_id: Option<Uuid>,
    /// Each with a pointer into the row.
    pub errors: Vec<Fault>,
    /// How many rows have these errors; absent: one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub count: Option<u64>,
    /// The rows with these errors, as far as the answer lists them; absent where there is one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub rows: Vec<RejectedRow>,
}

/// One of several rows with equal errors.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"index": 1, "kernel_id": "2b1f6c1e-9d57-4a1e-8b0e-6a3c0f1d2e4b", "pointer": "/1/terminated_at"}))]
pub struct RejectedRow {
    /// Its place in the array, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// Its line in the stream, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_id: Option<Uuid>,
    /// JSON pointer into the array to the place of the first error; a stream of lines has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub pointer: Option<String>,
}

/// A kernel as clients send it.
#[derive(Serialize)]
pub struct KernelRow<'a> {
    pub kernel_id: KernelId,
    pub session_id: SessionId,
    pub user: &'a str,
    pub project: &'a str,
    pub domain_name: &'a str,
    pub occupied_slots: &'a SlotAmounts,
    pub status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminated_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<&'a KernelAgents>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub charge_class: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
}

/// The answer to a report, as clients read it.
#[derive(Debug, Deserialize)]
pub struct ReportAnswer {
    #[serde(default)]
    pub rejected_codes: BTreeMap<String, u64>,
    #[serde(default)]
    pub errors: Vec<ShownRejection>,
}

/// Rows with equal errors that were not taken, as clients read them.
#[derive(Debug, Deserialize)]
pub struct ShownRejection {
    pub errors: Vec<ShownFault>,
}
