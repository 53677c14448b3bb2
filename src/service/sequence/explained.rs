//! The reasons why the workloads of a sequence wait.

use crate::domain::ids::Member;
use crate::domain::maps::FastSet;
use crate::domain::sequencer::{Decision, Workload};

/// The explanation of one workload.
#[derive(Clone, Copy, Debug)]
pub struct Explained {
    /// The number of owners of the workloads that come before.
    pub owners_ahead: u64,
    pub decision: Decision,
}

/// The explanations by position in the order; empty without decisions.
pub(super) fn explained(workloads: &[Workload], order: &[u32], decisions: Vec<Decision>) -> Vec<Explained> {
    let mut owners: FastSet<Member> = FastSet::default();
    let one = |(decision, at): (Decision, &u32)| {
        let owners_ahead = owners.len() as u64;
        owners.insert(workloads[*at as usize].owner);
        Explained { owners_ahead, decision }
    };
    decisions.into_iter().zip(order).map(one).collect()
}
