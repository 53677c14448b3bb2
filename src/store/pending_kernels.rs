//! The pending kernels of a group, in the order in which they became known.

use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, QuerySelect};

use super::Result;
use super::decode::SlotDecoder;
use super::entity::kernel::Column;
use super::kernels::live;
use crate::domain::decimal::Amount;
use crate::domain::ids::{GroupKey, KernelId, Member, ProjectId, UserId};
use crate::domain::kernel::Phase;
use crate::domain::slots::Amounts;

#[derive(Clone, Debug)]
pub struct PendingKernel {
    pub id: KernelId,
    pub owner: Member,
    pub queue: Option<String>,
    pub priority: i32,
    pub slots: Amounts,
    pub expected_seconds: Option<u32>,
}

/// The first `limit` pending kernels.
#[tracing::instrument(name = "db.pending_kernels.first", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn first(db: &impl ConnectionTrait, group: GroupKey, limit: u64) -> Result<Vec<PendingKernel>> {
    let mut slots = SlotDecoder::<Amount>::new();
    let waits = live(group).filter(Column::Status.eq(Phase::Pending.as_str()));
    let rows = waits.order_by_asc(Column::KernelKey).limit(limit).all(db).await?;
    let kernel = |row: super::entity::kernel::Model| {
        Ok(PendingKernel {
            id: KernelId(row.kernel_id),
            owner: Member { user: UserId(row.user_uuid), project: ProjectId(row.project_id) },
            queue: row.queue,
            priority: row.priority,
            slots: (*slots.decode(&row.occupied_slots)?).clone(),
            expected_seconds: row.expected_seconds.and_then(|seconds| u32::try_from(seconds).ok()),
        })
    };
    rows.into_iter().map(kernel).collect()
}
