//! Kernels that ended long before they were reported, with the history in which their usage counts and the time until which
//! it counts.

use std::collections::BTreeMap;

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect};
use uuid::Uuid;

use crate::domain::ids::{GroupKey, KernelId};
use crate::domain::time::Timestamp;
use crate::store::entity::earlier_kernel::{ActiveModel, Column, Entity};
use crate::store::retention::remove_some;
use crate::store::{Result, bulk};

/// A kernel whose usage counts already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlierKernel {
    /// The number of the history, or [`super::RECORDED`] for the records of runs.
    pub source: i32,
    /// The time until which the usage counts.
    pub until: Timestamp,
}

/// The kernels among `ids` whose usage counts already.
#[tracing::instrument(name = "db.earlier.find", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn find(
    db: &impl ConnectionTrait,
    group: GroupKey,
    ids: &[KernelId],
) -> Result<BTreeMap<KernelId, EarlierKernel>> {
    let mut found = BTreeMap::new();
    let place = [(Column::GroupKey, group.0.into())];
    for part in ids.chunks(bulk::MAX_IDS) {
        let those = bulk::one_of_place(db, &place, Column::KernelId, part.iter().map(|id| id.0));
        let columns = [Column::KernelId, Column::Source, Column::CountedUntil];
        let rows: Vec<(Uuid, i32, i64)> =
            Entity::find().filter(those).select_only().columns(columns).into_tuple().all(db).await?;
        found.extend(
            rows.into_iter().map(|(id, source, until)| {
                (KernelId(id), EarlierKernel { source, until: Timestamp::from_micros(until) })
            }),
        );
    }
    Ok(found)
}

/// Notes that kernels count in `source`. A kernel that is noted already gets the new time.
#[tracing::instrument(name = "db.earlier.save", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn save(
    db: &impl ConnectionTrait,
    group: GroupKey,
    source: i32,
    kernels: &BTreeMap<KernelId, Timestamp>,
) -> Result<()> {
    let rows = kernels.iter().map(|(id, until)| ActiveModel {
        group_key: Set(group.0),
        kernel_id: Set(id.0),
        source: Set(source),
        counted_until: Set(until.micros()),
    });
    let mut again = OnConflict::columns([Column::GroupKey, Column::KernelId]);
    again.update_columns([Column::Source, Column::CountedUntil]);
    bulk::insert(db, rows, Some(again)).await?;
    Ok(())
}

/// Removes the notes about at most `most` kernels of a history. Returns their number.
#[tracing::instrument(name = "db.earlier.forget_some", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn forget_some(db: &impl ConnectionTrait, group: GroupKey, source: i32, most: u64) -> Result<u64> {
    let those = Entity::find().filter(Column::GroupKey.eq(group.0)).filter(Column::Source.eq(source));
    remove_some(db, those, most).await
}
