//! The order of pending workloads: the request and the agreement as the server has them, and both sides as clients do.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

use domain::ids::{Member, ProjectId, UserId};
use domain::options::SequenceMode;
use domain::reading::{at_most, at_most_if_any, seconds};
use domain::slots::{SlotAmounts, optional_resource_slots};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// The largest number of workloads in one request.
const MAX_WORKLOADS: usize = 1_000_000;
/// The largest number of started workloads in one request.
const MAX_PLACED: usize = 100_000;

/// Pending workloads of one resource group.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"workloads": [{
    "workload_id": "job-1", "user_uuid": "6f0c8f3e-5b0c-4f0d-9a55-1d2f3c4b5a69",
    "project_id": "0b8a1c52-7c59-4d6f-8d1e-5b2a3c4d5e6f", "submitted_at": "2026-01-13T10:00:00Z"
}]}))]
pub struct SequenceRequest<'a> {
    /// Absent: the reported workloads that wait.
    #[serde(borrow, default, deserialize_with = "at_most_if_any::<MAX_WORKLOADS, _, _>")]
    #[schema(max_items = 1_000_000)]
    pub workloads: Option<Vec<PendingWorkload<'a>>>,
    /// How many of them the answer names, the first to start first; all by default.
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub limit: Option<NonZeroU32>,
    /// How the order is made; by default, as the group's option `sequence_mode` says.
    pub mode: Option<SequenceMode>,
    /// Workloads that have started and are not reported as kernels yet, so that a progressive order counts them.
    #[serde(borrow, default, deserialize_with = "at_most::<MAX_PLACED, _, _>")]
    #[schema(max_items = 100_000)]
    pub placed: Vec<PlacedWorkload<'a>>,
    /// True to get for each workload how many are ahead, of how many owners, and why.
    #[serde(default)]
    pub explain: bool,
    /// True to get for each workload its newest forecast: when it starts.
    #[serde(default)]
    pub forecast: bool,
    /// The ids of the workloads in the order that is in force now, such as the queue of another scheduler; the answer has the
    /// `agreement` of both orders. With `limit`, only the workloads that the answer names are compared.
    #[serde(default, deserialize_with = "at_most_if_any::<MAX_WORKLOADS, _, _>")]
    #[schema(max_items = 1_000_000)]
    pub current_order: Option<Vec<String>>,
}

/// A pending workload as a scheduler sends it. Texts borrow from the request's body.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PendingWorkload<'a> {
    #[serde(borrow)]
    #[schema(value_type = String)]
    pub workload_id: Cow<'a, str>,
    /// This or `user`.
    #[schema(value_type = Option<Uuid>)]
    pub user_uuid: Option<UserId>,
    /// The user's name instead of the UUID.
    #[schema(value_type = Option<String>)]
    pub user: Option<Cow<'a, str>>,
    /// This or `project`.
    #[schema(value_type = Option<Uuid>)]
    pub project_id: Option<ProjectId>,
    /// The project's name instead of the UUID.
    #[schema(value_type = Option<String>)]
    pub project: Option<Cow<'a, str>>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub submitted_at: Option<Timestamp>,
    #[serde(default)]
    pub priority: i32,
    /// Where it waits, for sequencers that let queues take turns; absent: as for kernels.
    #[schema(value_type = Option<String>)]
    pub queue: Option<Cow<'a, str>>,
    // Apart, because most have none, and hundreds of thousands of workloads are read.
    /// Slot name -> amount: a decimal, or a quantity of Kubernetes such as `500m` or `64Gi`.
    #[serde(default, deserialize_with = "optional_resource_slots")]
    #[schema(schema_with = domain::schemas::some_resource_quantities)]
    pub requested_slots: Option<Box<SlotAmounts>>,
    /// The number of equal tasks that it has, each with these slots: 1 to 1000000, 1 unless given. All of them are one workload, and are
    /// charged together.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub count: Option<u32>,
    /// How long it will run once it has started, 1 to 31536000 seconds; for progressive sequences.
    #[schema(minimum = 1, maximum = 31_536_000)]
    #[serde(default, deserialize_with = "seconds::optional_seconds")]
    pub expected_seconds: Option<u32>,
}

impl<'a> PendingWorkload<'a> {
    /// A workload of this owner of which nothing else is known.
    pub fn of_owner(workload_id: Cow<'a, str>, owner: Member) -> Self {
        Self {
            workload_id,
            user_uuid: Some(owner.user),
            user: None,
            project_id: Some(owner.project),
            project: None,
            submitted_at: None,
            priority: 0,
            queue: None,
            requested_slots: None,
            count: None,
            expected_seconds: None,
        }
    }
}

/// A workload that has started as a kernel which is not reported yet.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacedWorkload<'a> {
    /// While the kernel is known to run, and for an hour after its end, this entry has no effect.
    pub kernel_id: Uuid,
    /// This or `user`.
    #[schema(value_type = Option<Uuid>)]
    pub user_uuid: Option<UserId>,
    /// The user's name instead of the UUID.
    #[serde(borrow)]
    #[schema(value_type = Option<String>)]
    pub user: Option<Cow<'a, str>>,
    /// This or `project`.
    #[schema(value_type = Option<Uuid>)]
    pub project_id: Option<ProjectId>,
    /// The project's name instead of the UUID.
    #[schema(value_type = Option<String>)]
    pub project: Option<Cow<'a, str>>,
    /// As of a workload.
    #[serde(default, deserialize_with = "optional_resource_slots")]
    #[schema(schema_with = domain::schemas::some_resource_quantities)]
    pub requested_slots: Option<Box<SlotAmounts>>,
    /// As of a workload.
    #[schema(minimum = 1, maximum = 31_536_000)]
    #[serde(default, deserialize_with = "seconds::optional_seconds")]
    pub expected_seconds: Option<u32>,
}

/// The agreement of the order with `current_order`. Places are those among the workloads that both orders have, also with a
/// `limit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "compared": 3, "same_place": 1, "kendall_tau": 0.333_333_333_333_333_3,
    "gain": [{"user_name": "alice", "project_name": "vision", "places": 1}],
    "lose": [{"user_name": "bob", "project_name": "vision", "places": 1}]
}))]
pub struct SequenceAgreement {
    /// The number of workloads that both orders have; with a `limit`, of those among the first `limit` of either order.
    pub compared: usize,
    /// The number of compared workloads that have the same place in both.
    pub same_place: usize,
    /// Kendall's tau of the compared workloads: 1 for equal orders, -1 for an order and its reverse; `null` for fewer than two
    /// workloads.
    pub kendall_tau: Option<f64>,
    /// The owners whose workloads are further ahead in this order, at most 20, the one with the most places first.
    #[serde(default)]
    #[schema(required = true)]
    pub gain: Vec<OwnerPlaces>,
    /// The owners whose workloads are further back in this order, likewise.
    #[serde(default)]
    #[schema(required = true)]
    pub lose: Vec<OwnerPlaces>,
}

/// The places that all workloads of one owner gain or lose together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OwnerPlaces {
    /// The user's name, or the UUID where there is none.
    pub user_name: String,
    /// The project's name, or the UUID where there is none.
    pub project_name: String,
    /// The sum over the owner's workloads, above 0.
    pub places: u64,
}

/// A request for the order of workloads, as clients send it with amounts as texts.
#[derive(Clone, Debug, Serialize)]
pub struct OrderRequest<'a> {
    pub workloads: Vec<WorkloadRow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The scheduler's own order; absent for a server that does not know the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_order: Option<Vec<&'a str>>,
}

/// A workload of an [`OrderRequest`].
#[derive(Clone, Debug, Serialize)]
pub struct WorkloadRow<'a> {
    pub workload_id: &'a str,
    pub user: &'a str,
    pub project: &'a str,
    pub submitted_at: Timestamp,
    pub priority: i32,
    pub requested_slots: &'a BTreeMap<String, String>,
}

/// The order that the server answered, as clients read it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct ServerOrder {
    pub items: Vec<WorkloadPlace>,
    /// Absent if the server does not compare orders.
    pub agreement: Option<SequenceAgreement>,
}

/// A workload at its place of the order.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct WorkloadPlace {
    pub workload_id: String,
    /// The rank of its owner; `None` for an owner that the group does not know yet.
    pub rank: Option<u32>,
}
