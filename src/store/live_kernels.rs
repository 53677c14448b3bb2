//! Kernels that run or wait, or that runs still have to record. Each function reads them in one statement, so that the rows
//! are consistent with each other.

use std::sync::Arc;

use futures::TryStreamExt;
use sea_orm::{
    ColumnTrait, ConnectionTrait, FromQueryResult, QueryFilter, QueryOrder, QueryResult, QuerySelect, Select,
    Statement, StreamTrait,
};

use super::decode::SlotDecoder;
use super::entity::kernel::{Column, Entity, Model};
use super::entity::kernel_cursor;
use super::kernels::{agents, expected, phase, rules, select_live};
use super::nullable::NullableColumn;
use super::{Result, open_kernels};
use crate::domain::decimal::Amount;
use crate::domain::ids::{GroupKey, KernelId, KernelKey, Member, ProjectId, UserId};
use crate::domain::kernel::{KernelPhase, OpenKernel};
use crate::domain::queues::{DemandPortion, LiveKernel};
use crate::domain::time::Timestamp;

fn of_group(group: GroupKey) -> Select<Entity> {
    select_live(group).filter(
        Column::Status
            .is_in([KernelPhase::Running, KernelPhase::Suspended, KernelPhase::Pending].map(KernelPhase::as_str)),
    )
}

#[derive(FromQueryResult)]
struct LiveKernelRow {
    #[sea_orm(nested)]
    kernel: open_kernels::OpenKernelRow,
    queue: NullableColumn<String>,
    preemptible: bool,
    in_step: bool,
    cursor: NullableColumn<i64>,
}

/// Reads every kernel of the group that runs or waits, or that runs still have to record: its slots, its owner and, once it
/// has started, the usage that is still to be recorded.
#[tracing::instrument(
    name = "db.live_kernels.portions",
    level = "debug",
    skip_all,
    fields(group = group.0),
    err(level = "debug")
)]
pub async fn load_portions(
    db: &(impl ConnectionTrait + StreamTrait),
    group: GroupKey,
    recorded_until: Option<Timestamp>,
    mut each: impl FnMut(UserId, DemandPortion, Option<OpenKernel>),
) -> Result<()> {
    let mut decoder = open_kernels::KernelDecoder::new();
    let mut rows = select_live(group)
        .select_only()
        .columns(open_kernels::ROW_COLUMNS)
        .columns([Column::Queue, Column::Preemptible])
        .column(kernel_cursor::Column::InStep)
        .column_as(kernel_cursor::Column::RecordedUntil, "cursor")
        .into_model::<LiveKernelRow>()
        .stream(db)
        .await?;
    while let Some(LiveKernelRow {
        kernel,
        queue: NullableColumn(queue),
        preemptible,
        in_step,
        cursor: NullableColumn(cursor),
    }) = rows.try_next().await?
    {
        let until = if in_step { recorded_until } else { cursor.map(Timestamp::from_micros) };
        // The changes to be applied again matter only to a run.
        let unsettled = decoder.decode(&kernel, open_kernels::KernelCursor { in_step, until, applied: None })?;
        let slots = &*decoder.slots.decode(&kernel.occupied_slots)?;
        let (owner, phase) = (kernel.owner(), phase(&kernel.status)?);
        let portion = DemandPortion { queue: queue.as_deref(), project: owner.project, phase, preemptible, slots };
        each(owner.user, portion, unsettled);
    }
    Ok(())
}

/// The running, suspended and pending kernels with the data that plans and workloads need, by kernel id.
#[tracing::instrument(name = "db.live_kernels.all", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn load_live_kernels(
    db: &(impl ConnectionTrait + StreamTrait),
    group: GroupKey,
) -> Result<Vec<Arc<LiveKernel>>> {
    let mut slots = SlotDecoder::<Amount>::new();
    let mut rows = of_group(group).order_by_asc(Column::KernelId).stream(db).await?;
    let mut kernels = Vec::new();
    while let Some(row) = rows.try_next().await? {
        kernels.push(Arc::new(live_kernel(row, &mut slots)?));
    }
    Ok(kernels)
}

/// The kernel of a row, reduced to what plans and workloads need.
pub(super) fn live_kernel(row: Model, slots: &mut SlotDecoder<Amount>) -> Result<LiveKernel> {
    Ok(LiveKernel {
        key: Some(KernelKey(row.kernel_key)),
        id: row.kernel_id,
        session: row.session_id,
        owner: Member { user: UserId(row.user_uuid), project: ProjectId(row.project_id) },
        queue: row.queue,
        phase: phase(&row.status)?,
        priority: row.priority,
        preemptible: row.preemptible,
        critical: row.critical,
        gang_id: row.gang_id,
        gang_min: row.gang_min.and_then(|g| u32::try_from(g).ok()),
        agents: agents(row.agent_id, row.agent_ids.as_deref())?,
        started_at: row.started_at.map(Timestamp::from_micros),
        submitted_at: row.submitted_at.map(Timestamp::from_micros),
        reported_at: row.reported_at.map(Timestamp::from_micros),
        expected_seconds: expected(row.expected_seconds),
        charge_class: Some(row.charge_class).filter(|class| !class.is_empty()),
        rules: rules(row.placement_rules.as_deref())?,
        slots: (*slots.decode(&row.occupied_slots)?).clone(),
    })
}

/// Kernels with a record that ends at `since` or later, which have ended since then and are recorded to their ends.
#[tracing::instrument(name = "db.live_kernels.ended_since", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn ended_since(
    db: &impl ConnectionTrait,
    group: GroupKey,
    since: Timestamp,
) -> Result<Vec<(KernelId, Timestamp)>> {
    let sql = "SELECT DISTINCT k.kernel_id, k.terminated_at FROM usage_slices s \
               INNER JOIN kernels k ON k.kernel_key = s.kernel_key \
               WHERE s.group_key = $1 AND s.period_end >= $2 AND k.terminated_at >= $2 AND NOT EXISTS \
               (SELECT 1 FROM kernel_cursors c WHERE c.kernel_key = k.kernel_key)";
    let values = [group.0.into(), since.micros().into()];
    let statement = Statement::from_sql_and_values(db.get_database_backend(), sql, values);
    let rows = db.query_all_raw(statement).await?;
    let read = |row: &QueryResult| {
        let end: i64 = row.try_get("", "terminated_at")?;
        Ok((KernelId(row.try_get("", "kernel_id")?), Timestamp::from_micros(end)))
    };
    rows.iter().map(read).collect()
}
