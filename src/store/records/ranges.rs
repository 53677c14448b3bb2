//! Records of a group that end within a range, read and replaced as a whole.

use sea_orm::sea_query::Condition;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Statement};

use super::{NewRecord, insert};
use crate::domain::ids::{GroupKey, KernelKey};
use crate::domain::time::{Span, Timestamp};
use crate::store::Result;
use crate::store::entity::usage_slice::{Column, Entity};

/// Records that end from `from` to `to`, both included.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    pub from: Timestamp,
    pub to: Timestamp,
}

impl Range {
    fn of(self, group: GroupKey) -> Condition {
        Condition::all()
            .add(Column::GroupKey.eq(group.0))
            .add(Column::PeriodEnd.gte(self.from.micros()))
            .add(Column::PeriodEnd.lte(self.to.micros()))
    }
}

/// When the first record of the group ends that ends at `from` or later.
#[tracing::instrument(name = "db.records.first_end_from", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn first_end_from(db: &impl ConnectionTrait, group: GroupKey, from: Timestamp) -> Result<Option<Timestamp>> {
    let range = Range { from, to: Timestamp::MAX };
    let first = Entity::find().select_only().column(Column::PeriodEnd).filter(range.of(group));
    let end: Option<i64> = first.order_by_asc(Column::PeriodEnd).limit(1).into_tuple().one(db).await?;
    Ok(end.map(Timestamp::from_micros))
}

/// The part of a range up to where `most` records have ended that end after its begin.
#[tracing::instrument(name = "db.records.first_part", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn first_part(db: &impl ConnectionTrait, group: GroupKey, range: Range, most: u64) -> Result<Range> {
    let end: Option<i64> = Entity::find()
        .select_only()
        .column(Column::PeriodEnd)
        .filter(range.of(group))
        .filter(Column::PeriodEnd.gt(range.from.micros()))
        .order_by_asc(Column::PeriodEnd)
        .offset(most)
        .limit(1)
        .into_tuple()
        .one(db)
        .await?;
    Ok(Range { from: range.from, to: end.map_or(range.to, Timestamp::from_micros) })
}

/// All records of a range.
#[tracing::instrument(name = "db.records.range", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn read(db: &impl ConnectionTrait, group: GroupKey, range: Range) -> Result<Vec<NewRecord>> {
    let rows = Entity::find().filter(range.of(group)).all(db).await?;
    let record = |row: crate::store::entity::usage_slice::Model| NewRecord {
        kernel: KernelKey(row.kernel_key),
        span: Span { start: Timestamp::from_micros(row.period_start), end: Timestamp::from_micros(row.period_end) },
        kind: row.kind,
        slices: u32::try_from(row.slices).unwrap_or(1),
    };
    Ok(rows.into_iter().map(record).collect())
}

/// Puts `records` in the place of all records of a range.
#[tracing::instrument(name = "db.records.replace", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn replace(db: &impl ConnectionTrait, group: GroupKey, range: Range, records: &[NewRecord]) -> Result<()> {
    Entity::delete_many().filter(range.of(group)).exec(db).await?;
    insert(db, group, records).await
}

/// What the records of a range amount to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub records: i64,
    pub micros: i64,
    pub slices: i64,
}

/// What the database has in a range.
#[tracing::instrument(name = "db.records.totals", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn totals(db: &impl ConnectionTrait, group: GroupKey, range: Range) -> Result<Totals> {
    let sql = "SELECT COUNT(*) AS records, CAST(COALESCE(SUM(period_end - period_start), 0) AS BIGINT) AS micros, \
               CAST(COALESCE(SUM(slices), 0) AS BIGINT) AS slices FROM usage_slices \
               WHERE group_key = $1 AND period_end >= $2 AND period_end <= $3";
    let values = [group.0.into(), range.from.micros().into(), range.to.micros().into()];
    let row = db.query_one_raw(Statement::from_sql_and_values(db.get_database_backend(), sql, values)).await?;
    let Some(row) = row else { return Ok(Totals::default()) };
    let [records, micros, slices] = ["records", "micros", "slices"].map(|column| row.try_get("", column));
    Ok(Totals { records: records?, micros: micros?, slices: slices? })
}
