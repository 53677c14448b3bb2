//! Kernels that runs still have to record.

use std::collections::HashMap;
use std::sync::Arc;

use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect,
};
use uuid::Uuid;

use super::decode::{DimensionsDecoder, SlotDecoder};
use super::entity::kernel::{Column, Entity};
use super::entity::kernel_cursor;
use super::kernel_keys::of_group;
use super::kernels::{changes, expected, phase};
use super::nullable::NullableColumn;
use super::{Result, bulk};
use crate::domain::changes::SuspensionChanges;
use crate::domain::decimal::Amount;
use crate::domain::ids::{GroupKey, KernelId, KernelKey, Member, ProjectId, UserId};
use crate::domain::kernel::{OpenKernel, StartedKernel};
use crate::domain::time::Timestamp;

/// The columns of [`OpenKernelRow`].
pub(super) const ROW_COLUMNS: [Column; 12] = [
    Column::KernelKey,
    Column::KernelId,
    Column::UserUuid,
    Column::ProjectId,
    Column::DomainName,
    Column::ChargeClass,
    Column::OccupiedSlots,
    Column::Status,
    Column::StartedAt,
    Column::TerminatedAt,
    Column::StatusChanges,
    Column::ExpectedSeconds,
];

/// The columns of a kernel that runs need.
#[derive(FromQueryResult)]
pub(super) struct OpenKernelRow {
    kernel_key: i64,
    kernel_id: Uuid,
    user_uuid: Uuid,
    project_id: Uuid,
    domain_name: String,
    charge_class: String,
    pub occupied_slots: String,
    pub status: String,
    started_at: NullableColumn<i64>,
    terminated_at: NullableColumn<i64>,
    status_changes: NullableColumn<String>,
    expected_seconds: NullableColumn<i32>,
}

impl OpenKernelRow {
    pub fn owner(&self) -> Member {
        Member { user: UserId(self.user_uuid), project: ProjectId(self.project_id) }
    }
}

/// The recorded time of a kernel.
#[derive(Default)]
pub(super) struct KernelCursor {
    pub in_step: bool,
    pub until: Option<Timestamp>,
    pub applied: Option<SuspensionChanges>,
}

/// Decodes many kernels; values that they share are stored once.
pub(super) struct KernelDecoder {
    pub slots: SlotDecoder<Amount>,
    dimensions: DimensionsDecoder,
}

impl KernelDecoder {
    pub fn new() -> Self {
        Self { slots: SlotDecoder::new(), dimensions: DimensionsDecoder::default() }
    }

    /// `None`: the kernel has not started.
    pub fn decode(&mut self, row: &OpenKernelRow, cursor: KernelCursor) -> Result<Option<OpenKernel>> {
        let Some(started_at) = row.started_at.0 else { return Ok(None) };
        let kernel = StartedKernel {
            key: KernelKey(row.kernel_key),
            id: KernelId(row.kernel_id),
            owner: row.owner(),
            dimensions: self.dimensions.decode(&row.domain_name, &row.charge_class),
            slots: self.slots.decode(&row.occupied_slots)?,
            phase: phase(&row.status)?,
            started_at: Timestamp::from_micros(started_at),
            terminated_at: row.terminated_at.0.map(Timestamp::from_micros),
            changes: changes(row.status_changes.0.as_deref())?,
            applied: cursor.applied,
            expected_seconds: expected(row.expected_seconds.0),
        };
        Ok(Some(OpenKernel { kernel: Arc::new(kernel), cursor: cursor.until, in_step: cursor.in_step }))
    }
}

/// The next kernels, by key, of a group that is recorded until `recorded_until`; and the key after which to go on, `None` at
/// the end.
#[tracing::instrument(name = "db.unsettled.page", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn page(
    db: &impl ConnectionTrait,
    group: GroupKey,
    recorded_until: Option<Timestamp>,
    after: Option<KernelKey>,
    limit: u64,
) -> Result<(Vec<OpenKernel>, Option<KernelKey>)> {
    // Two statements, because one that joins kernels may read all of them for each page.
    let stored: Vec<(i64, bool, NullableColumn<i64>, NullableColumn<String>)> = kernel_cursor::Entity::find()
        .select_only()
        .columns([
            kernel_cursor::Column::KernelKey,
            kernel_cursor::Column::InStep,
            kernel_cursor::Column::RecordedUntil,
            kernel_cursor::Column::AppliedChanges,
        ])
        .filter(of_group(kernel_cursor::Column::KernelKey, group))
        .filter(Condition::all().add_option(after.map(|key| kernel_cursor::Column::KernelKey.gt(key.0))))
        .order_by_asc(kernel_cursor::Column::KernelKey)
        .limit(limit)
        .into_tuple()
        .all(db)
        .await?;
    let Some(last) = stored.last().map(|(key, ..)| KernelKey(*key)) else { return Ok((Vec::new(), None)) };
    let mut cursors: HashMap<i64, KernelCursor> = HashMap::with_capacity(stored.len());
    for (key, in_step, NullableColumn(own), NullableColumn(applied)) in stored {
        let until = if in_step { recorded_until } else { own.map(Timestamp::from_micros) };
        let applied = applied.as_deref().map(|text| changes(Some(text))).transpose()?;
        cursors.insert(key, KernelCursor { in_step, until, applied });
    }
    let rows = Entity::find()
        .select_only()
        .columns(ROW_COLUMNS)
        .filter(bulk::one_of(db, Column::KernelKey, cursors.keys().copied()))
        .filter(Column::StartedAt.is_not_null())
        .into_model::<OpenKernelRow>()
        .all(db)
        .await?;
    let mut decoder = KernelDecoder::new();
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        let cursor = cursors.remove(&row.kernel_key).unwrap_or_default();
        found.extend(decoder.decode(&row, cursor)?);
    }
    found.sort_unstable_by_key(|kernel| kernel.key);
    Ok((found, Some(last)))
}
