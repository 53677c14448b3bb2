//! Why each workload of a sequence waits.

use crate::domain::ids::Member;
use crate::domain::maps::FastSet;
use crate::domain::sequencer::{Decision, Workload};

/// What is told of one workload.
#[derive(Clone, Copy, Debug)]
pub struct Explained {
    /// Of how many owners the workloads are that are before it.
    pub owners_ahead: u64,
    pub decision: Decision,
}

/// By position in the order; empty without decisions.
pub(super) fn explained(workloads: &[Workload], order: &[u32], decisions: Vec<Decision>) -> Vec<Explained> {
    let mut owners: FastSet<Member> = FastSet::default();
    let one = |(decision, at): (Decision, &u32)| {
        let owners_ahead = owners.len() as u64;
        owners.insert(workloads[*at as usize].owner);
        Explained { owners_ahead, decision }
    };
    decisions.into_iter().zip(order).map(one).collect()
}
