//! Where a picture has what each bucket of everybody comes to before decay.

use std::sync::Arc;

use crate::domain::hierarchy::Share;
use crate::domain::ids::Owner;
use crate::domain::trail::{Trail, Trails};

#[derive(Clone, Debug)]
pub enum TrailBook {
    /// In the histories of its shares, which a run of this process has calculated.
    Histories,
    /// Apart, read from the database.
    Read(Arc<Trails>),
}

impl TrailBook {
    /// The trail of an owner who has this share.
    pub fn of<'a>(&'a self, share: &'a Share, owner: impl FnOnce() -> Owner) -> Option<&'a Trail> {
        match self {
            Self::Histories => Some(&share.history.trail),
            Self::Read(trails) => trails.get(&owner()),
        }
    }
}
