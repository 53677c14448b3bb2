//! Kernels and their usage records.

use super::input::page::{Cursor, CursorKey, Page, PageWindow};
use super::{Caller, Error, Result, Service};
use crate::domain::ids::KernelId;
use crate::domain::kernel::Kernel;
use crate::domain::time::Day;
use crate::store;
use crate::store::records::RecordRange;

pub use crate::store::kernels::KernelFilter;
pub use crate::store::records::StoredRecord;

/// A kernel with its records, by start.
#[derive(Debug)]
pub struct KernelWithRecords {
    pub kernel: Kernel,
    pub records: Vec<StoredRecord>,
    /// `Some` if the kernel started before this day and records of earlier days were purged.
    pub records_from: Option<Day>,
}

impl Service {
    /// The name of the kernels of a group in page cursors.
    pub const KERNEL_LIST: &'static str = "kernels";

    /// The kernels by id.
    #[tracing::instrument(
        name = "service.kernels.kernels",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn kernels(
        &self,
        caller: &Caller,
        group: &str,
        mut filter: KernelFilter,
        window: &PageWindow,
    ) -> Result<Page<Kernel>> {
        if let Some(user) = filter.user {
            caller.require_user(user)?;
        }
        filter.user = caller.only_user().or(filter.user);
        let key = self.group(caller, group)?.key;
        let after = match window.after.as_ref().map(|c| c.key.as_slice()) {
            None => None,
            Some([CursorKey::Text(id)]) => Some(id.parse().map_err(|_| Error::other_cursor())?),
            Some(_) => return Err(Error::other_cursor()),
        };
        let (mut rows, total) =
            store::kernels::page(&self.reads_for(caller.client()), key, &filter, after, u64::from(window.limit) + 1)
                .await?;
        let has_next = rows.len() > window.limit as usize;
        rows.truncate(window.limit as usize);
        let cursor = |k: &Kernel| Cursor::new(Self::KERNEL_LIST, vec![CursorKey::Text(k.report.id.to_string())]);
        Ok(Page {
            rows: rows.into_iter().map(|k| (cursor(&k), k)).collect(),
            has_next,
            has_previous: after.is_some(),
            total,
        })
    }

    /// The known kernels among `ids`, in any group.
    #[tracing::instrument(name = "service.kernels.known_kernels", level = "debug", skip_all, err(level = "debug"))]
    pub async fn known_kernels(&self, caller: &Caller, ids: &[KernelId]) -> Result<Vec<Kernel>> {
        caller.require_reader()?;
        let found = store::kernels::find_many(&self.reads_for(caller.client()), ids).await?;
        Ok(found.into_iter().filter(|(group, _)| caller.reaches(group)).map(|(_, kernel)| kernel).collect())
    }

    /// One kernel with its records, by start.
    #[tracing::instrument(
        name = "service.kernels.kernel",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn kernel(&self, caller: &Caller, group: &str, id: KernelId) -> Result<KernelWithRecords> {
        let visible = self.group(caller, group)?;
        let unknown =
            || Error::NotFound { code: "unknown_kernel", detail: format!("there is no kernel {id} in {group:?}") };
        let kernel =
            store::kernels::find(&self.reads_for(caller.client()), visible.key, id).await?.ok_or_else(unknown)?;
        // For a user's key, kernels of other users do not exist.
        caller.require_user(kernel.report.owner.user).map_err(|_| unknown())?;
        let recorded = kernel.key.zip(kernel.report.started_at).zip(kernel.cursor);
        let Some(((of, started_at), until)) = recorded else {
            return Ok(KernelWithRecords { kernel, records: Vec::new(), records_from: None });
        };
        let records_from = visible.records_from.filter(|day| started_at < day.start());
        let after = records_from.map_or(started_at, Day::start);
        let stretch = RecordRange { kernel: of, after, until };
        let records = store::records::load_record_range(&self.reads_for(caller.client()), visible.key, stretch).await?;
        Ok(KernelWithRecords { kernel, records, records_from })
    }
}
