//! The source of the open kernels of a run, page by page: memory, or otherwise the database.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::vec;

use crate::domain::ids::KernelKey;
use crate::domain::kernel::OpenKernel;
use crate::engine::error::Result;
use crate::engine::group::state::MAX_OPEN_IN_MEMORY;
use crate::engine::group::transaction::GroupTransaction;
use crate::store;

/// The number of kernels that are taken from memory at once.
const PART_KERNELS: usize = 5_000;
/// The number of rows that are read at once.
const PAGE_ROWS: u64 = 20_000;

/// The range of keys whose new kernels a step has left to the next step.
#[derive(Clone, Copy, Debug)]
pub struct RemainingKernels {
    /// The first kernel that is left.
    pub from: KernelKey,
    /// The last kernel that the first step of the run knew.
    pub to: KernelKey,
}

/// The open kernels in the order of their keys.
pub struct OpenKernelSource {
    /// The kernels in memory; `None` if they are read from the database.
    known: Option<BTreeMap<KernelKey, OpenKernel>>,
    /// The kernels that were read from the database, if all are read and they are not too many to be kept.
    read: Option<BTreeMap<KernelKey, OpenKernel>>,
    /// True if all kernels are read, so that everything that follows from them is computed again.
    pub is_full: bool,
    page: vec::IntoIter<OpenKernel>,
    after: Option<KernelKey>,
    /// The last key that is requested.
    to: Option<KernelKey>,
    has_ended: bool,
}

impl OpenKernelSource {
    /// The source of all kernels, or of those in `rest`.
    pub fn new(session: &mut GroupTransaction, rest: Option<RemainingKernels>) -> Self {
        let known = session.state_mut().take_unsettled();
        let is_full = known.is_none() && rest.is_none();
        Self {
            known,
            read: is_full.then(BTreeMap::new),
            is_full,
            page: Vec::new().into_iter(),
            after: rest.map(|rest| KernelKey(rest.from.0 - 1)),
            to: rest.map(|rest| rest.to),
            has_ended: false,
        }
    }

    pub async fn next(&mut self, session: &GroupTransaction) -> Result<Option<OpenKernel>> {
        Ok(if self.has_ended(session).await? { None } else { self.page.next() })
    }

    /// True if no kernel is left.
    pub async fn has_ended(&mut self, session: &GroupTransaction) -> Result<bool> {
        if !self.has_ended {
            self.turn_page(session).await?;
            let next = self.page.as_slice().first();
            self.has_ended = next.is_none_or(|kernel| self.to.is_some_and(|to| kernel.key > to));
        }
        Ok(self.has_ended)
    }

    /// Fetches the next page with kernels, if this page has none left.
    async fn turn_page(&mut self, session: &GroupTransaction) -> Result<()> {
        while self.page.as_slice().is_empty() {
            let last = if let Some(known) = &self.known {
                let rest = (self.after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
                self.page = known
                    .range(rest)
                    .take(PART_KERNELS)
                    .map(|(_, kernel)| kernel.clone())
                    .collect::<Vec<_>>()
                    .into_iter();
                self.page.as_slice().last().map(|kernel| kernel.key)
            } else {
                let until = session.state().group.recorded_until;
                let (read, last) =
                    store::open_kernels::page(session.read(), session.key(), until, self.after, PAGE_ROWS).await?;
                self.page = read.into_iter();
                last
            };
            if last.is_none() {
                break;
            }
            self.after = last;
        }
        Ok(())
    }

    /// Skips all kernels that are left.
    pub fn end(&mut self) {
        self.has_ended = true;
    }

    /// Stores the state in which a step leaves a kernel.
    pub fn keep(&mut self, kernel: OpenKernel) {
        if let Some(kernels) = self.known.as_mut().or(self.read.as_mut()) {
            kernels.insert(kernel.key, kernel);
        }
        if self.read.as_ref().is_some_and(|read| read.len() > MAX_OPEN_IN_MEMORY) {
            self.read = None;
        }
    }

    /// Removes a kernel in which runs have nothing to do any more.
    pub fn forget(&mut self, key: KernelKey) {
        if let Some(known) = &mut self.known {
            known.remove(&key);
        }
    }

    /// The kernels that the next run gets from memory.
    pub fn take_kept(&mut self) -> Option<BTreeMap<KernelKey, OpenKernel>> {
        // Collected again, because a map that has grown by appending is half empty.
        self.known.take().or_else(|| self.read.take().map(|read| read.into_iter().collect()))
    }
}
