//! Where a step of a run gets the unsettled kernels from, page by page: from memory, or else from the database.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::vec;

use crate::domain::ids::KernelKey;
use crate::domain::kernel::Unsettled;
use crate::service::Result;
use crate::service::group::session::Session;
use crate::service::group::state::MOST_AT_HAND;
use crate::store;

/// Kernels that are taken from memory at once.
const PART: usize = 5_000;
/// Rows that are read at once.
const PAGE: u64 = 20_000;

/// The keys among which a step has left new kernels to the next.
#[derive(Clone, Copy, Debug)]
pub struct Rest {
    /// The first kernel that is left.
    pub from: KernelKey,
    /// The last kernel that the first step of the run knew.
    pub to: KernelKey,
}

/// Unsettled kernels by their keys.
pub struct Source {
    /// Those in memory; `None`: they are read from the database.
    known: Option<BTreeMap<KernelKey, Unsettled>>,
    /// Those that were read from the database, where all of them are read, unless they are too many.
    read: Option<BTreeMap<KernelKey, Unsettled>>,
    /// Whether all of them are read, so that what follows from them is made anew.
    pub anew: bool,
    page: vec::IntoIter<Unsettled>,
    after: Option<KernelKey>,
    /// The last key that is asked for.
    to: Option<KernelKey>,
    has_ended: bool,
}

impl Source {
    /// Of all kernels, or of a rest.
    pub fn new(session: &mut Session, rest: Option<Rest>) -> Self {
        let known = session.state_mut().take_unsettled();
        let anew = known.is_none() && rest.is_none();
        Self {
            known,
            read: anew.then(BTreeMap::new),
            anew,
            page: Vec::new().into_iter(),
            after: rest.map(|rest| KernelKey(rest.from.0 - 1)),
            to: rest.map(|rest| rest.to),
            has_ended: false,
        }
    }

    pub async fn next(&mut self, session: &Session) -> Result<Option<Unsettled>> {
        Ok(if self.has_ended(session).await? { None } else { self.page.next() })
    }

    /// Whether no kernel comes any more.
    pub async fn has_ended(&mut self, session: &Session) -> Result<bool> {
        if !self.has_ended {
            self.turn_page(session).await?;
            let next = self.page.as_slice().first();
            self.has_ended = next.is_none_or(|kernel| self.to.is_some_and(|to| kernel.key > to));
        }
        Ok(self.has_ended)
    }

    /// Goes on to the next page that has kernels, where this one has none left.
    async fn turn_page(&mut self, session: &Session) -> Result<()> {
        while self.page.as_slice().is_empty() {
            let last = if let Some(known) = &self.known {
                let rest = (self.after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
                self.page =
                    known.range(rest).take(PART).map(|(_, kernel)| kernel.clone()).collect::<Vec<_>>().into_iter();
                self.page.as_slice().last().map(|kernel| kernel.key)
            } else {
                let until = session.state().group.recorded_until;
                let (read, last) =
                    store::unsettled::page(session.read(), session.key(), until, self.after, PAGE).await?;
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

    /// Leaves all that comes.
    pub fn end(&mut self) {
        self.has_ended = true;
    }

    /// Notes how a step leaves a kernel.
    pub fn keep(&mut self, kernel: Unsettled) {
        if let Some(kernels) = self.known.as_mut().or(self.read.as_mut()) {
            kernels.insert(kernel.key, kernel);
        }
        if self.read.as_ref().is_some_and(|read| read.len() > MOST_AT_HAND) {
            self.read = None;
        }
    }

    /// A run has nothing to do with the kernel any more.
    pub fn forget(&mut self, key: KernelKey) {
        if let Some(known) = &mut self.known {
            known.remove(&key);
        }
    }

    /// What the next run gets from memory.
    pub fn kept(&mut self) -> Option<BTreeMap<KernelKey, Unsettled>> {
        // A map that has grown by its end is half empty.
        self.known.take().or_else(|| self.read.take().map(|read| read.into_iter().collect()))
    }
}
