//! Kernels that are known to be running, with the time of their last report.

use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

use super::Result;
use super::entity::kernel::Column;
use super::entity::kernel_cursor;
use super::kernels::select_live;
use crate::domain::ids::{GroupKey, KernelId};
use crate::domain::kernel::KernelPhase;
use crate::domain::time::Timestamp;

/// A kernel that runs or is suspended.
#[derive(Clone, Copy, Debug)]
pub struct RunningKernel {
    pub id: KernelId,
    pub started_at: Timestamp,
    /// The time of the last report; `None`: unknown.
    pub seen_at: Option<Timestamp>,
}

/// All kernels of the group that run or are suspended, by kernel id.
#[tracing::instrument(name = "db.running.all", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn load_running_kernels(db: &impl ConnectionTrait, group: GroupKey) -> Result<Vec<RunningKernel>> {
    let rows: Vec<(Uuid, Option<i64>, Option<i64>)> = select_live(group)
        .select_only()
        .columns([Column::KernelId, Column::StartedAt])
        .column(kernel_cursor::Column::SeenAt)
        .filter(Column::Status.is_in([KernelPhase::Running.as_str(), KernelPhase::Suspended.as_str()]))
        .order_by_asc(Column::KernelId)
        .into_tuple()
        .all(db)
        .await?;
    let running = |(id, started_at, seen_at): (Uuid, Option<i64>, Option<i64>)| {
        let started_at = Timestamp::from_micros(started_at?);
        Some(RunningKernel { id: KernelId(id), started_at, seen_at: seen_at.map(Timestamp::from_micros) })
    };
    Ok(rows.into_iter().filter_map(running).collect())
}
