//! The request for a sequence, as it is sent.

use std::num::NonZeroU32;

use serde::Deserialize;
use utoipa::ToSchema;

use super::{PendingWorkload, PlacedWorkload, SequenceInput};
use crate::domain::options::SequenceMode;
use crate::domain::reading::{at_most, at_most_if_any};

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

impl<'a> From<SequenceRequest<'a>> for SequenceInput<'a> {
    fn from(request: SequenceRequest<'a>) -> Self {
        let SequenceRequest { workloads, limit, mode, placed, explain, forecast, current_order } = request;
        let workloads = workloads.unwrap_or_default();
        Self { workloads, mode, placed, limit, explain, forecast, impediments: None, current_order }
    }
}
