//! The kernels that have not ended, as plans and lists of workloads need them: read once, and then updated with the changes of each ingest.

use std::collections::BTreeMap;
use std::sync::Arc;

use uuid::Uuid;

use crate::domain::kernel::Kernel;
use crate::domain::queues::LiveKernel;

/// All kernels that have not ended, by id.
pub type LiveKernelList = Arc<[Arc<LiveKernel>]>;

/// The new state of a kernel; `None`: it has ended.
pub type LiveKernelChange = (Uuid, Option<Arc<LiveKernel>>);

/// The kernels of one snapshot: those of an earlier snapshot, and the changes since. The next snapshot takes them over
/// without a copy; they are merged only for a plan.
#[derive(Clone, Debug)]
pub struct LiveKernels {
    known: LiveKernelList,
    /// One part for each write, the oldest first.
    changes: Vec<Arc<[LiveKernelChange]>>,
}

impl LiveKernels {
    pub fn of(known: LiveKernelList) -> Self {
        Self { known, changes: Vec::new() }
    }

    /// Appends the kernel changes of one more write. Returns `None` once reading the kernels again costs less than
    /// merging all changes since the last merge.
    pub fn after(mut self, changed: Vec<LiveKernelChange>) -> Option<Self> {
        if !changed.is_empty() {
            self.changes.push(changed.into());
        }
        let count: usize = self.changes.iter().map(|part| part.len()).sum();
        (count <= self.known.len() / 2 + 1_000).then_some(self)
    }

    pub fn all(&self) -> LiveKernelList {
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

/// The change that an ingest has made to a kernel.
pub fn change(kernel: &Kernel) -> LiveKernelChange {
    (kernel.report.id.0, LiveKernel::of(kernel).map(Arc::new))
}
