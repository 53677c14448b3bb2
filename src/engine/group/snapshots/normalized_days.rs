//! The place of a snapshot's normalised days: the usage of each bucket over its capacity, before decay.

use std::sync::Arc;

use crate::domain::hierarchy::Share;
use crate::domain::ids::Owner;
use crate::domain::normalized_days::{NormalizedDays, NormalizedDaysByOwner};

#[derive(Clone, Debug)]
pub enum NormalizedDaysCache {
    /// In the histories of its shares, which a run of this process has calculated.
    Histories,
    /// In a map of their own, read from the database.
    Read(Arc<NormalizedDaysByOwner>),
}

impl NormalizedDaysCache {
    /// The normalised days of the owner of this share.
    pub fn of<'a>(&'a self, share: &'a Share, owner: impl FnOnce() -> Owner) -> Option<&'a NormalizedDays> {
        match self {
            Self::Histories => Some(&share.history.normalized_days),
            Self::Read(normalized_days) => normalized_days.get(&owner()),
        }
    }
}
