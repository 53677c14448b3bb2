//! What runs still have to record.

use std::collections::btree_map;

use crate::domain::ids::KernelId;
use crate::domain::kernel::Unsettled;
use crate::service::Result;
use crate::service::group::session::Session;
use crate::store;

/// Rows that are read at once.
const PAGE: u64 = 20_000;

/// Where a run gets the unsettled kernels from: from memory, or else page by page from the database.
pub enum Source {
    Memory(btree_map::IntoValues<KernelId, Unsettled>),
    Store { page: std::vec::IntoIter<Unsettled>, after: Option<KernelId> },
}

impl Source {
    pub fn new(session: &mut Session) -> Self {
        match session.state_mut().take_unsettled() {
            Some(known) => Self::Memory(known.into_values()),
            None => Self::Store { page: Vec::new().into_iter(), after: None },
        }
    }

    pub async fn next(&mut self, session: &Session) -> Result<Option<Unsettled>> {
        let (page, after) = match self {
            Self::Memory(known) => return Ok(known.next()),
            Self::Store { page, after } => (page, after),
        };
        loop {
            if let Some(kernel) = page.next() {
                return Ok(Some(kernel));
            }
            let group = &session.state().group.name;
            let (read, last) = store::kernels::unsettled(session.tx(), group, *after, PAGE).await?;
            if last.is_none() {
                return Ok(None);
            }
            *after = last;
            *page = read.into_iter();
        }
    }
}
