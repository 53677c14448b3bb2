//! Where a picture has what each bucket of everybody comes to before decay.

use std::sync::Arc;

use crate::domain::hierarchy::Share;
use crate::domain::ids::Owner;
use crate::domain::normalized_days::{NormalizedDays, NormalizedDaysByOwner};

#[derive(Clone, Debug)]
pub enum NormalizedDaysCache {
    /// In the histories of its shares, which a run of this process has calculated.
    Histories,
    /// Apart, read from the database.
    Read(Arc<NormalizedDaysByOwner>),
}

impl NormalizedDaysCache {
    /// The normalised days of an owner who has this share.
    pub fn of<'a>(&'a self, share: &'a Share, owner: impl FnOnce() -> Owner) -> Option<&'a NormalizedDays> {
        match self {
            Self::Histories => Some(&share.history.normalized_days),
            Self::Read(normalized_days) => normalized_days.get(&owner()),
        }
    }
}
