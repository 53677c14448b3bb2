//! The reasons why the workloads of a sequence wait.

use crate::domain::ids::Member;
use crate::domain::maps::FastSet;
use crate::domain::sequencer::{OrderDecision, SequenceWorkload};

/// The explanation of one workload.
#[derive(Clone, Copy, Debug)]
pub struct ExplainedWorkload {
    /// The number of owners of the workloads that come before.
    pub owners_ahead: u64,
    pub decision: OrderDecision,
}

/// The explanations by position in the order; empty without decisions.
pub(super) fn explain_workloads(
    workloads: &[SequenceWorkload],
    order: &[u32],
    decisions: Vec<OrderDecision>,
) -> Vec<ExplainedWorkload> {
    let mut owners: FastSet<Member> = FastSet::default();
    let one = |(decision, at): (OrderDecision, &u32)| {
        let owners_ahead = owners.len() as u64;
        owners.insert(workloads[*at as usize].owner);
        ExplainedWorkload { owners_ahead, decision }
    };
    decisions.into_iter().zip(order).map(one).collect()
}
