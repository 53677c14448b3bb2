//! The kernels that run or wait, as plans need them: read once, and from then on kept up by what ingests change.

use std::collections::BTreeMap;
use std::sync::Arc;

use uuid::Uuid;

use crate::domain::kernel::Kernel;
use crate::domain::queues::LiveKernel;

/// All that run or wait, by id.
pub type Kernels = Arc<[Arc<LiveKernel>]>;

/// What became of a kernel; `None`: it ended.
pub type Change = (Uuid, Option<Arc<LiveKernel>>);

/// The kernels of one picture, as what an earlier one had and what was changed since. The next picture takes it over
/// without copying it; only a plan puts it together.
#[derive(Clone, Debug)]
pub struct LiveKernels {
    known: Kernels,
    /// One part for each write, the oldest first.
    changes: Vec<Arc<[Change]>>,
}

impl LiveKernels {
    pub fn of(known: Kernels) -> Self {
        Self { known, changes: Vec::new() }
    }

    /// With what one more write made of kernels. `None`: so much was changed since anybody asked that they are better
    /// read again.
    pub fn after(mut self, changed: Vec<Change>) -> Option<Self> {
        if !changed.is_empty() {
            self.changes.push(changed.into());
        }
        let count: usize = self.changes.iter().map(|part| part.len()).sum();
        (count <= self.known.len() / 2 + 1_000).then_some(self)
    }

    pub fn all(&self) -> Kernels {
        if self.changes.is_empty() {
            return Arc::clone(&self.known);
        }
        let mut changed: BTreeMap<Uuid, Option<&Arc<LiveKernel>>> = BTreeMap::new();
        changed.extend(self.changes.iter().flat_map(|part| part.iter()).map(|(id, kernel)| (*id, kernel.as_ref())));
        let mut all: Vec<_> = self.known.iter().filter(|k| !changed.contains_key(&k.id)).map(Arc::clone).collect();
        all.extend(changed.into_values().flatten().map(Arc::clone));
        all.sort_unstable_by_key(|kernel| kernel.id);
        all.into()
    }
}

/// What an ingest made of a kernel.
pub fn change(kernel: &Kernel) -> Change {
    (kernel.report.id.0, LiveKernel::of(kernel).map(Arc::new))
}
