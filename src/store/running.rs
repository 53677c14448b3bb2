//! Kernels that are known to be running, with the time of their last report.

use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

use super::Result;
use super::entity::kernel::Column;
use super::entity::kernel_cursor;
use super::kernels::live;
use crate::domain::ids::{GroupKey, KernelId};
use crate::domain::kernel::Phase;
use crate::domain::time::Timestamp;

/// A kernel that runs or is suspended.
#[derive(Clone, Copy, Debug)]
pub struct Running {
    pub id: KernelId,
    pub started_at: Timestamp,
    /// The time of the last report; `None`: unknown.
    pub seen_at: Option<Timestamp>,
}

/// All kernels of the group that run or are suspended, by kernel id.
#[tracing::instrument(name = "db.running.all", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn all(db: &impl ConnectionTrait, group: GroupKey) -> Result<Vec<Running>> {
    let rows: Vec<(Uuid, Option<i64>, Option<i64>)> = live(group)
        .select_only()
        .columns([Column::KernelId, Column::StartedAt])
        .column(kernel_cursor::Column::SeenAt)
        .filter(Column::Status.is_in([Phase::Running.as_str(), Phase::Suspended.as_str()]))
        .order_by_asc(Column::KernelId)
        .into_tuple()
        .all(db)
        .await?;
    let running = |(id, started_at, seen_at): (Uuid, Option<i64>, Option<i64>)| {
        let started_at = Timestamp::from_micros(started_at?);
        Some(Running { id: KernelId(id), started_at, seen_at: seen_at.map(Timestamp::from_micros) })
    };
    Ok(rows.into_iter().filter_map(running).collect())
}
