//! What is computed from the facts of one revision when a request first asks, and shared from then on.

use std::sync::{Arc, OnceLock};

use tokio::sync::OnceCell;

use super::answers::Answers;
use super::cluster::ClusterSnapshot;
use super::division::Division;
use super::entitlements::Entitlements;
use super::facts::GroupSnapshotData;
use crate::domain::division::Trace;
use crate::domain::fault::Fault;
use crate::domain::time::Timestamp;
use crate::service::group::live_kernels::LiveKernels;
use crate::service::work::blocking;
use crate::service::{Error, Result};

/// What was computed so far.
#[derive(Debug, Default)]
pub struct DerivedValues {
    division: OnceLock<std::result::Result<Arc<Division>, Vec<Fault>>>,
    entitlements: OnceLock<Arc<Entitlements>>,
    pub cluster: OnceCell<Arc<ClusterSnapshot>>,
    /// The kernels that run or wait, if an earlier picture had them.
    pub kernels: Option<LiveKernels>,
    /// Whole answers, written.
    pub answers: Answers,
}

impl DerivedValues {
    pub fn with(kernels: Option<LiveKernels>) -> Self {
        Self { kernels, ..Self::default() }
    }

    /// What stays true of `before` when only kernels and queues have changed, and the same owners are active.
    pub fn after(before: &Self, reconfigured: bool, kernels: Option<LiveKernels>) -> Self {
        let answers = before.answers.with_queues(reconfigured);
        Self { kernels, answers, entitlements: before.entitlements.clone(), ..Self::default() }
    }

    /// What weights entitle everyone of `facts` to; made once.
    pub fn entitlements(&self, facts: &GroupSnapshotData) -> &Arc<Entitlements> {
        self.entitlements.get_or_init(|| blocking(|| Arc::new(Entitlements::of(facts))))
    }

    /// The kernels that run or wait, as far as that needs no reading.
    pub fn known_kernels(&self) -> Option<LiveKernels> {
        self.cluster.get().map(|cluster| LiveKernels::of(cluster.kernels())).or_else(|| self.kernels.clone())
    }

    /// The division of `facts`; made once.
    pub fn division(&self, facts: &GroupSnapshotData, now: Timestamp) -> Result<Arc<Division>> {
        let made = self.division.get_or_init(|| facts.divide(now, Trace::off()).map(Arc::new));
        made.clone().map_err(Error::not_divisible)
    }

    /// The division, if it was made already.
    pub fn known_division(&self) -> Option<Arc<Division>> {
        self.division.get()?.as_ref().ok().map(Arc::clone)
    }
}
