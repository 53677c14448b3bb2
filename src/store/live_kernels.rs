//! Kernels that run or wait, read in one statement each, so that what is read belongs together.

use std::sync::Arc;

use futures::TryStreamExt;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, QuerySelect, Select, StreamTrait};
use uuid::Uuid;

use super::Result;
use super::decode::SlotDecoder;
use super::entity::kernel::{Column, Entity};
use super::kernels::{live, phase};
use crate::domain::decimal::Amount;
use crate::domain::ids::{GroupKey, ProjectId, UserId};
use crate::domain::kernel::Phase;
use crate::domain::queues::{LiveKernel, Portion};
use crate::domain::time::Timestamp;

fn of_group(group: GroupKey) -> Select<Entity> {
    live(group).filter(Column::Status.is_in([Phase::Running.as_str(), Phase::Pending.as_str()]))
}

/// Owner and demand of everything that runs or waits in the group.
#[tracing::instrument(
    name = "db.live_kernels.portions",
    level = "debug",
    skip_all,
    fields(group = group.0),
    err(level = "debug")
)]
pub async fn portions(
    db: &(impl ConnectionTrait + StreamTrait),
    group: GroupKey,
    mut each: impl FnMut(UserId, Portion),
) -> Result<()> {
    type Row = (Uuid, Uuid, String, String, Option<String>, bool);
    let mut slots = SlotDecoder::<Amount>::new();
    let mut rows = of_group(group)
        .select_only()
        .columns([
            Column::UserUuid,
            Column::ProjectId,
            Column::OccupiedSlots,
            Column::Status,
            Column::Queue,
            Column::Preemptible,
        ])
        .into_tuple::<Row>()
        .stream(db)
        .await?;
    while let Some((user, project, occupied, status, queue, preemptible)) = rows.try_next().await? {
        let portion = Portion {
            queue: queue.as_deref(),
            project: ProjectId(project),
            phase: phase(&status)?,
            preemptible,
            slots: &*slots.decode(&occupied)?,
        };
        each(UserId(user), portion);
    }
    Ok(())
}

/// Everything that a reclaim plan needs to know of what runs or waits, by kernel id.
#[tracing::instrument(name = "db.live_kernels.all", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn all(db: &(impl ConnectionTrait + StreamTrait), group: GroupKey) -> Result<Vec<Arc<LiveKernel>>> {
    let mut slots = SlotDecoder::<Amount>::new();
    let mut rows = of_group(group).order_by_asc(Column::KernelId).stream(db).await?;
    let mut kernels = Vec::new();
    while let Some(row) = rows.try_next().await? {
        kernels.push(Arc::new(LiveKernel {
            id: row.kernel_id,
            session: row.session_id,
            project: ProjectId(row.project_id),
            queue: row.queue,
            phase: phase(&row.status)?,
            priority: row.priority,
            preemptible: row.preemptible,
            critical: row.critical,
            gang_id: row.gang_id,
            gang_min: row.gang_min.and_then(|g| u32::try_from(g).ok()),
            agent_id: row.agent_id,
            started_at: row.started_at.map(Timestamp::from_micros),
            slots: (*slots.decode(&row.occupied_slots)?).clone(),
        }));
    }
    Ok(kernels)
}
