//! Kernels that run or wait, or of which something is left to record, read in one statement each, so that what is read belongs
//! together.

use std::sync::Arc;

use futures::TryStreamExt;
use sea_orm::{
    ColumnTrait, ConnectionTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect, Select, StreamTrait,
};
use uuid::Uuid;

use super::decode::SlotDecoder;
use super::entity::kernel::{Column, Entity};
use super::entity::kernel_cursor;
use super::kernels::{changes, expected, live, phase};
use super::{Result, StoreError};
use crate::domain::decimal::Amount;
use crate::domain::ids::{GroupKey, KernelId, KernelKey, Member, ProjectId, UserId};
use crate::domain::kernel::{Phase, Unsettled};
use crate::domain::queues::{LiveKernel, Portion};
use crate::domain::time::Timestamp;

fn of_group(group: GroupKey) -> Select<Entity> {
    live(group).filter(Column::Status.is_in([Phase::Running.as_str(), Phase::Pending.as_str()]))
}

#[derive(FromQueryResult)]
struct Row {
    kernel_key: i64,
    kernel_id: Uuid,
    user_uuid: Uuid,
    project_id: Uuid,
    domain_name: String,
    occupied_slots: String,
    status: String,
    started_at: Option<i64>,
    terminated_at: Option<i64>,
    status_changes: Option<String>,
    expected_seconds: Option<i32>,
    queue: Option<String>,
    preemptible: bool,
    in_step: bool,
    cursor: Option<i64>,
}

/// Everything of the group that runs or waits, or that runs still have to record: what it holds or asks for, whose it is, and,
/// once it has started, what is to be recorded of it.
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
    recorded_until: Option<Timestamp>,
    mut each: impl FnMut(UserId, Portion, Option<Unsettled>),
) -> Result<()> {
    let mut slots = SlotDecoder::<Amount>::new();
    let mut domains: hashbrown::HashSet<Arc<str>> = hashbrown::HashSet::new();
    let mut rows = live(group)
        .select_only()
        .columns([
            Column::KernelKey,
            Column::KernelId,
            Column::UserUuid,
            Column::ProjectId,
            Column::DomainName,
            Column::OccupiedSlots,
            Column::Status,
            Column::StartedAt,
            Column::TerminatedAt,
            Column::StatusChanges,
            Column::ExpectedSeconds,
            Column::Queue,
            Column::Preemptible,
        ])
        .column(kernel_cursor::Column::InStep)
        .column_as(kernel_cursor::Column::RecordedUntil, "cursor")
        .into_model::<Row>()
        .stream(db)
        .await?;
    while let Some(row) = rows.try_next().await? {
        let occupied = slots.decode(&row.occupied_slots)?;
        let phase = phase(&row.status)?;
        let owner = Member { user: UserId(row.user_uuid), project: ProjectId(row.project_id) };
        let unsettled = |started_at: i64| {
            Ok::<_, StoreError>(Unsettled {
                key: KernelKey(row.kernel_key),
                id: KernelId(row.kernel_id),
                owner,
                domain: Arc::clone(domains.get_or_insert_with(row.domain_name.as_str(), |d| Arc::from(d))),
                slots: (*occupied).clone(),
                phase,
                started_at: Timestamp::from_micros(started_at),
                terminated_at: row.terminated_at.map(Timestamp::from_micros),
                cursor: if row.in_step { recorded_until } else { row.cursor.map(Timestamp::from_micros) },
                in_step: row.in_step,
                changes: changes(row.status_changes.as_deref())?,
                applied: None,
                expected_seconds: expected(row.expected_seconds),
            })
        };
        let unsettled = row.started_at.map(unsettled).transpose()?;
        let (queue, preemptible) = (row.queue.as_deref(), row.preemptible);
        let portion = Portion { queue, project: owner.project, phase, preemptible, slots: &occupied };
        each(owner.user, portion, unsettled);
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
