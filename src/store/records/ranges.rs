//! Records of a group that end within a range, read and replaced as a whole.

use sea_orm::sea_query::{Condition, Expr};
use sea_orm::{ColumnTrait, ConnectionTrait, DbBackend, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use super::{NewRecord, insert};
use crate::domain::ids::{GroupKey, KernelKey};
use crate::domain::time::{TimeSpan, Timestamp};
use crate::store::Result;
use crate::store::entity::usage_slice::{Column, Entity};

/// Records that end from `from` to `to`, both included.
#[derive(Clone, Copy, Debug)]
pub struct RecordWindow {
    pub from: Timestamp,
    pub to: Timestamp,
}

impl RecordWindow {
    fn of(self, group: GroupKey) -> Condition {
        Condition::all()
            .add(Column::GroupKey.eq(group.0))
            .add(Column::PeriodEnd.gte(self.from.micros()))
            .add(Column::PeriodEnd.lte(self.to.micros()))
    }
}

/// The end of the group's first record that ends at `from` or later.
#[tracing::instrument(name = "db.records.first_end_from", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn first_end_from(db: &impl ConnectionTrait, group: GroupKey, from: Timestamp) -> Result<Option<Timestamp>> {
    let range = RecordWindow { from, to: Timestamp::MAX };
    let first = Entity::find().select_only().column(Column::PeriodEnd).filter(range.of(group));
    let end: Option<i64> = first.order_by_asc(Column::PeriodEnd).limit(1).into_tuple().one(db).await?;
    Ok(end.map(Timestamp::from_micros))
}

/// The first part of a range, which has about `most` records.
#[tracing::instrument(name = "db.records.first_part", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn first_part(
    db: &impl ConnectionTrait,
    group: GroupKey,
    range: RecordWindow,
    most: u64,
) -> Result<RecordWindow> {
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
    Ok(RecordWindow { from: range.from, to: end.map_or(range.to, Timestamp::from_micros) })
}

/// All records of a range.
#[tracing::instrument(name = "db.records.range", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn read(db: &impl ConnectionTrait, group: GroupKey, range: RecordWindow) -> Result<Vec<NewRecord>> {
    load_records(db, range.of(group)).await
}

/// Replaces all records of a range.
#[tracing::instrument(name = "db.records.replace", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn replace(
    db: &impl ConnectionTrait,
    group: GroupKey,
    range: RecordWindow,
    records: &[NewRecord],
) -> Result<()> {
    Entity::delete_many().filter(range.of(group)).exec(db).await?;
    insert(db, group, records).await
}

/// The condition on records that end within a range, by their keys: the end and the kernel.
fn within_condition(
    db: &impl ConnectionTrait,
    group: GroupKey,
    within: RecordWindow,
    keys: &[(Timestamp, KernelKey)],
) -> Condition {
    let key = Expr::tuple([Column::PeriodEnd.into_expr(), Column::KernelKey.into_expr()]);
    let those = if db.get_database_backend() == DbBackend::Postgres {
        let ends: Vec<i64> = keys.iter().map(|(end, _)| end.micros()).collect();
        let kernels: Vec<i64> = keys.iter().map(|(_, kernel)| kernel.0).collect();
        Expr::cust_with_exprs("$1 IN (SELECT UNNEST($2), UNNEST($3))", [key, Expr::value(ends), Expr::value(kernels)])
    } else {
        let pairs: Vec<[i64; 2]> = keys.iter().map(|(end, kernel)| [end.micros(), kernel.0]).collect();
        let text = Expr::value(serde_json::json!(pairs).to_string());
        Expr::cust_with_exprs("? IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))", [key, text])
    };
    within.of(group).add(those)
}

/// The records of a range with these keys that exist.
#[tracing::instrument(name = "db.records.find", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn find(
    db: &impl ConnectionTrait,
    group: GroupKey,
    within: RecordWindow,
    keys: &[(Timestamp, KernelKey)],
) -> Result<Vec<NewRecord>> {
    load_records(db, within_condition(db, group, within, keys)).await
}

/// Removes records of a range by their keys. Returns their number.
#[tracing::instrument(name = "db.records.take_out", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn take_out(
    db: &impl ConnectionTrait,
    group: GroupKey,
    within: RecordWindow,
    keys: &[(Timestamp, KernelKey)],
) -> Result<u64> {
    Ok(Entity::delete_many().filter(within_condition(db, group, within, keys)).exec(db).await?.rows_affected)
}

async fn load_records(db: &impl ConnectionTrait, which: Condition) -> Result<Vec<NewRecord>> {
    let rows = Entity::find().filter(which).all(db).await?;
    let record = |row: crate::store::entity::usage_slice::Model| NewRecord {
        kernel: KernelKey(row.kernel_key),
        span: TimeSpan { start: Timestamp::from_micros(row.period_start), end: Timestamp::from_micros(row.period_end) },
        kind: row.kind,
        slices: u32::try_from(row.slices).unwrap_or(1),
    };
    Ok(rows.into_iter().map(record).collect())
}
