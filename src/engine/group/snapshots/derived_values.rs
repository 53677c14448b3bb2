//! Values that are derived from the data of a snapshot when a request first needs them, and shared from then on.

use std::sync::{Arc, OnceLock};

use tokio::sync::OnceCell;

use super::answers::SnapshotAnswers;
use super::cluster::ClusterSnapshot;
use super::division::SnapshotDivision;
use super::entitlements::SnapshotEntitlements;
use super::snapshot_data::GroupSnapshotData;
use crate::domain::division::DivisionTrace;
use crate::domain::fault::Fault;
use crate::domain::time::Timestamp;
use crate::domain::workloads::AssessedWorkloads;
use crate::engine::error::{Error, Result};
use crate::engine::group::live_kernels::{LiveKernelList, LiveKernels};
use crate::engine::work::run_blocking;

/// The values that were derived so far.
#[derive(Debug, Default)]
pub struct DerivedValues {
    division: OnceLock<std::result::Result<Arc<SnapshotDivision>, Vec<Fault>>>,
    entitlements: OnceLock<Arc<SnapshotEntitlements>>,
    pub cluster: OnceCell<Arc<ClusterSnapshot>>,
    /// The kernels that have not ended, if an earlier snapshot had them.
    pub kernels: Option<LiveKernels>,
    /// All kernels that have not ended, once something has needed them.
    pub all_kernels: OnceCell<LiveKernelList>,
    /// The workloads that these kernels form.
    pub workloads: OnceLock<Arc<AssessedWorkloads>>,
    /// Whole answers, serialised.
    pub answers: SnapshotAnswers,
}

impl DerivedValues {
    pub fn with(kernels: Option<LiveKernels>) -> Self {
        Self { kernels, ..Self::default() }
    }

    /// The values of `before` that stay correct when only kernels and queues have changed and the same owners are active.
    pub fn after(before: &Self, reconfigured: bool, kernels: Option<LiveKernels>) -> Self {
        let answers = before.answers.with_queues(reconfigured);
        Self { kernels, answers, entitlements: before.entitlements.clone(), ..Self::default() }
    }

    /// The shares that weights give to all owners of `facts`; calculated once.
    pub fn entitlements(&self, facts: &GroupSnapshotData) -> &Arc<SnapshotEntitlements> {
        self.entitlements.get_or_init(|| run_blocking(|| Arc::new(SnapshotEntitlements::of(facts))))
    }

    /// The kernels that have not ended, if they are known without a read of the database.
    pub fn known_kernels(&self) -> Option<LiveKernels> {
        self.all_kernels.get().map(|all| LiveKernels::of(Arc::clone(all))).or_else(|| self.kernels.clone())
    }

    /// The division of `facts`; calculated once.
    pub fn division(&self, facts: &GroupSnapshotData, now: Timestamp) -> Result<Arc<SnapshotDivision>> {
        let made = self.division.get_or_init(|| facts.divide(now, DivisionTrace::off()).map(Arc::new));
        made.clone().map_err(Error::not_divisible)
    }

    /// The division, if it was calculated already.
    pub fn known_division(&self) -> Option<Arc<SnapshotDivision>> {
        self.division.get()?.as_ref().ok().map(Arc::clone)
    }
}
