//! The pending kernels of a group, in the order in which they became known.

use std::sync::Arc;

use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, QuerySelect};

use super::Result;
use super::decode::SlotDecoder;
use super::entity::kernel::Column;
use super::kernels::select_live;
use super::live_kernels::live_kernel;
use crate::domain::ids::GroupKey;
use crate::domain::kernel::KernelPhase;
use crate::domain::queues::LiveKernel;

/// The first `limit` pending kernels.
#[tracing::instrument(name = "db.pending_kernels.first", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn first(db: &impl ConnectionTrait, group: GroupKey, limit: u64) -> Result<Vec<Arc<LiveKernel>>> {
    let mut slots = SlotDecoder::new();
    let waits = select_live(group).filter(Column::Status.eq(KernelPhase::Pending.as_str()));
    let rows = waits.order_by_asc(Column::KernelKey).limit(limit).all(db).await?;
    rows.into_iter().map(|row| live_kernel(row, &mut slots).map(Arc::new)).collect()
}
