//! The kernels of reports: stored, and noted in the state while the database works.

use std::collections::BTreeSet;

use futures::future::join;

use super::live_kernels::{self, LiveKernelChange};
use super::state::GroupState;
use super::transaction::GroupTransaction;
use crate::domain::ids::KernelId;
use crate::domain::kernel::Kernel;
use crate::domain::time::Timestamp;
use crate::engine::error::Result;
use crate::store;

/// Kernels that are noted before the task yields. The number is small so that an answer of the database does not wait long.
const KERNELS_BETWEEN_YIELDS: usize = 50;

/// Reported kernels, each with its earlier state.
pub type ReportedKernels = Vec<(Option<Kernel>, Kernel)>;

impl GroupTransaction {
    /// Stores kernels that were reported at `seen_at`. Kernels that another group has claimed since this transaction read
    /// them are taken out and returned.
    pub async fn save_kernels(
        &mut self,
        kernels: &mut ReportedKernels,
        seen_at: Timestamp,
    ) -> Result<BTreeSet<KernelId>> {
        if kernels.is_empty() {
            return Ok(BTreeSet::new());
        }
        self.touched = true;
        self.state.number_kernels(kernels);
        let key = self.key();
        let Self { tx, state, kernels: noted, .. } = self;
        let note = note_reports(state, noted.as_mut(), kernels);
        let (stored, ()) = join(store::kernels::upsert(tx, key, kernels), note).await;
        let mut claimed = BTreeSet::new();
        if stored? != kernels.len() as u64 {
            claimed = self.take_out_claimed(kernels).await?;
        }
        store::cursors::save(self.write(), kernels, seen_at).await?;
        Ok(claimed)
    }

    /// Takes out kernels that another group has claimed. Only kernels that were new can be another group's.
    async fn take_out_claimed(&mut self, kernels: &mut ReportedKernels) -> Result<BTreeSet<KernelId>> {
        let ids: Vec<KernelId> = kernels.iter().map(|(_, kernel)| kernel.report.id).collect();
        let found = store::kernels::find_many(&self.tx, &ids).await?;
        let elsewhere = found.into_iter().filter(|(of, _)| *of != self.state.group.name);
        let claimed: BTreeSet<KernelId> = elsewhere.map(|(_, kernel)| kernel.report.id).collect();
        for (_, kernel) in kernels.extract_if(.., |(_, kernel)| claimed.contains(&kernel.report.id)) {
            self.state.kernel_changed(Some(&kernel), None);
            if let Some(noted) = &mut self.kernels {
                noted.push((kernel.report.id.0, None));
            }
        }
        Ok(claimed)
    }
}

async fn note_reports(
    state: &mut GroupState,
    mut noted: Option<&mut Vec<LiveKernelChange>>,
    kernels: &ReportedKernels,
) {
    for part in kernels.chunks(KERNELS_BETWEEN_YIELDS) {
        for (old, new) in part {
            state.kernel_changed(old.as_ref(), Some(new));
        }
        if let Some(noted) = &mut noted {
            noted.extend(part.iter().map(|(_, new)| live_kernels::change(new)));
        }
        tokio::task::yield_now().await;
    }
}
