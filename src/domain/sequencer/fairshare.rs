use super::{Sequence, Standings, Workload};

/// Historical fair share: ascending exponent, so descending factor, of (user, project).
pub(super) struct FairShare;

impl Sequence for FairShare {
    fn name(&self) -> &'static str {
        "fairshare"
    }

    fn success_message(&self) -> &'static str {
        "Sessions sequenced using hierarchical Fair Share algorithm"
    }

    fn keys(&self, workloads: &[Workload], standings: &Standings) -> Vec<u64> {
        workloads.iter().map(|w| standings.exponent(w.owner).sort_key()).collect()
    }
}
