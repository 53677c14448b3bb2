//! Downtimes that removed or extended usage, as they are shown afterwards (FAIR_SHARE §4).

use super::input::page::{Page, PageWindow, id_page, id_window};
use super::{Caller, Result, Service};
use crate::store;

pub use crate::store::runs::DowntimeGap;

impl Service {
    /// The name of the gaps of a group in page cursors.
    pub const GAP_LIST: &'static str = "usage-gaps";

    /// The gaps, newest first.
    #[tracing::instrument(name = "service.gaps.gaps", level = "debug", skip_all, fields(group), err(level = "debug"))]
    pub async fn gaps(&self, caller: &Caller, group: &str, window: &PageWindow) -> Result<Page<DowntimeGap>> {
        self.group_for_readers(caller, group)?;
        let found = store::runs::load_gaps(&self.reads_for(caller.client()), group, &id_window(window)?).await?;
        Ok(id_page(Self::GAP_LIST, found, |g| g.id, window))
    }
}
