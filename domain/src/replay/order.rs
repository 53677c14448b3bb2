//! The order of pending workloads in a group without a server, as a server with the same policy would return it.

use super::group::ReplayGroup;
use super::policy::ReplayPolicy;
use crate::ids::Member;
use crate::sequencer::SequenceWorkload;
use crate::sequencer::progressive::{DomainByProject, ProgressiveInput, ResourceRequest};
use crate::time::Timestamp;

impl ReplayGroup {
    /// The positions of the first `most` workloads in the order. `requests` has the request of each workload. `placed` are those
    /// that have their places already, and which the group does not know as kernels yet: they count in progressive orders.
    pub fn order(
        &self,
        policy: &ReplayPolicy,
        placed: &[(Member, ResourceRequest)],
        (workloads, requests): (&[SequenceWorkload], &[ResourceRequest]),
        now: Timestamp,
        most: usize,
    ) -> Vec<u32> {
        let Some(progressive) = policy.progressive() else {
            let mut order = policy.sequencer.order(workloads, self);
            order.truncate(most);
            return order;
        };
        let (domains, explain) = (&DomainByProject::default(), false);
        progressive
            .order(&ProgressiveInput { group: self, workloads, requests, placed, domains, now, most, explain })
            .order
    }
}
