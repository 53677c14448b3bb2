//! The request for a cycle over the live state of a group.

use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::group_options;
use crate::domain::cycle::{CycleOptions, CyclePending, PendingList, count_members};
use crate::service::simulate::BYTES_OF_MEMBER;
use crate::service::visible_group::VisibleGroup;
use crate::service::{Error, Fault, Result};

/// The pending workloads and options of a cycle over a live group. Everything may be left out.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"cycle": {"backfill": "easy"}}))]
pub struct CyclePlanRequest {
    /// Absent: the reported workloads that wait. Otherwise these alone wait. Each has `owner.user` and `owner.project`, by name or
    /// UUID, and no `position`, which follows from the group's order.
    #[serde(default)]
    pub workloads: Option<PendingList>,
    /// Keys that take the place of the same keys in the group's option `cycle`, for this cycle alone.
    #[serde(default)]
    #[schema(value_type = Option<CycleOptions>)]
    pub cycle: Option<Map<String, Value>>,
    /// True for a `trace` of every decision.
    #[serde(default)]
    pub explain: bool,
}

impl CyclePlanRequest {
    /// The size, in bytes of a request, of the members that the workloads stand for.
    pub(super) fn expanded_bytes(&self) -> usize {
        self.workloads.as_ref().map_or(0, |workloads| count_members(workloads) * BYTES_OF_MEMBER)
    }

    /// The options of the cycle: those of the group, with the keys of the request in their place.
    pub(super) fn options(&self, group: &VisibleGroup) -> Result<CycleOptions> {
        let Some(patch) = &self.cycle else { return Ok(group_options(group)) };
        let patched = group.options.cycle.patched(patch);
        let mut options = patched.map_err(|faults| Error::Invalid(faults).below("/cycle"))?;
        options.order_queues_as(group.scheduler.name());
        Ok(options)
    }
}

/// Faults of workloads whose owner is not said as a live group needs it. The pointers begin at the list.
pub(super) fn owner_faults(workloads: &PendingList) -> Vec<Fault> {
    let fault = |at: usize, workload: &CyclePending| {
        let about = |key: &str, code, said: &str| {
            Some(Fault::about(format!("{}/{key}", workloads.pointer("/pending", at)), code, said))
        };
        match workload {
            CyclePending { position: Some(_), .. } => {
                about("position", "not_applicable", "follows from the group's order, and is not taken from a request")
            }
            _ if workload.owner.domain.is_some() => {
                about("owner/domain", "not_applicable", "follows from the project, and is not taken from a request")
            }
            _ => None,
        }
    };
    workloads.elements.iter().enumerate().filter_map(|(at, workload)| fault(at, workload)).collect()
}
