//! The check `disk`: the free space beside an `SQLite` database.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Check, CheckOutcome, CheckSubject};
use crate::engine::work::run_blocking;
use crate::service::Result;
use crate::store::disk::DiskSpace;

/// Below this, in bytes, writes may soon fail, because the log alone grows to about 128 MiB.
const FAULT_BYTES: u64 = 256 << 20;
/// Below this, in bytes, a person should free space.
const WARNING_BYTES: u64 = 1 << 30;
/// The free space that is needed, in percent of the database, because migrations rewrite parts of it.
const FREE_PERCENT: u64 = 20;

pub(super) struct DiskCheck;

impl Check for DiskCheck {
    fn name(&self) -> &'static str {
        "disk"
    }

    fn examine<'a>(&'a self, subject: &'a CheckSubject<'a>) -> BoxFuture<'a, Result<CheckOutcome>> {
        async move { examine(subject) }.boxed()
    }
}

fn examine(subject: &CheckSubject<'_>) -> Result<CheckOutcome> {
    let Some(space) = run_blocking(|| subject.service.store().disk_space())? else {
        return Ok(CheckOutcome::not_checked("the database is PostgreSQL, whose disk only its own machine sees"));
    };
    let DiskSpace { free, database } = space;
    let detail = format!("{} are free beside a database of {}", format_bytes(free), format_bytes(database));
    let remedy = "make room, or move the database: `fairshared backup` copies it while the server runs";
    Ok(if free < FAULT_BYTES {
        CheckOutcome::fault(detail, remedy)
    } else if free < WARNING_BYTES || free < database / 100 * FREE_PERCENT {
        CheckOutcome::warning(detail, remedy)
    } else {
        CheckOutcome::ok(detail)
    })
}

/// The bytes for a sentence: in MiB, from 10 GiB on in GiB.
fn format_bytes(bytes: u64) -> String {
    if bytes >= 10 << 30 { format!("{} GiB", bytes >> 30) } else { format!("{} MiB", bytes.div_ceil(1 << 20)) }
}
