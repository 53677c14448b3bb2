//! Usage records: one slice of one kernel, or several that were compacted, within one day. Buckets follow from them.
//!
//! Records are stored in the order of time, because a run writes those of all kernels at once. The records of one kernel are
//! found one after the other, backwards: where a record begins, the one before it ends, except for times that were not
//! recorded.

use std::sync::Arc;

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Condition, OnConflict};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, EntityTrait, FromQueryResult, PaginatorTrait, QueryFilter, Statement,
    Value,
};
use uuid::Uuid;

use super::decode::{DimensionsDecoder, SlotDecoder};
use super::entity::usage_slice::{ActiveModel, Column, Entity};
use super::{Result, StoreError, bulk};
use crate::domain::decimal::Amount;
use crate::domain::ids::{GroupKey, KernelId, KernelKey, Member, ProjectId, SessionId, UserId};
use crate::domain::slots::{SlotAmounts, SlotUsages};
use crate::domain::time::{Day, TimeSpan, Timestamp};
use crate::domain::usage_dimensions::UsageDimensions;

pub mod day_sums;
pub mod list;
pub mod ranges;
pub mod sums;

/// A record as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewRecord {
    pub kernel: KernelKey,
    pub span: TimeSpan,
    /// The number of the row of `slice_kinds` with the dimensions of the record, and the slots that were held.
    pub kind: i32,
    /// The number of slices that the record stands for.
    pub slices: u32,
}

/// A record with the values that it refers to.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRecord {
    pub stored: NewRecord,
    pub kernel: KernelId,
    pub session: SessionId,
    pub owner: Member,
    pub dimensions: UsageDimensions,
    /// The slots that the kernel held.
    pub slots: Arc<SlotAmounts>,
}

impl StoredRecord {
    pub fn span(&self) -> TimeSpan {
        self.stored.span
    }

    /// Slot-seconds.
    pub fn usage(&self) -> SlotUsages {
        self.slots.for_micros(self.span().micros())
    }

    /// True if the record stands for several slices.
    pub fn is_compacted(&self) -> bool {
        self.stored.slices > 1
    }
}

/// The columns of a [`RecordRow`], where `s` is a record and `k` and `d` are its kernel and its kind.
const ROW_COLUMNS: &str = "s.kernel_key, s.period_start, s.period_end, s.kind, s.slices, \
                   k.kernel_id, k.session_id, k.user_uuid, k.project_id, d.domain_name, d.charge_class, d.slots AS held";
/// The kernel and the kind of a record `s`.
const JOIN_KERNEL_AND_KIND: &str = "JOIN kernels k ON k.kernel_key = s.kernel_key \
                   LEFT JOIN slice_kinds d ON d.group_key = $1 AND d.kind = s.kind";

#[derive(FromQueryResult)]
struct RecordRow {
    kernel_key: i64,
    period_start: i64,
    period_end: i64,
    kind: i32,
    slices: i32,
    kernel_id: Uuid,
    session_id: Uuid,
    user_uuid: Uuid,
    project_id: Uuid,
    domain_name: Option<String>,
    charge_class: Option<String>,
    held: Option<String>,
}

impl RecordRow {
    fn decode(self, slots: &mut SlotDecoder<Amount>, dimensions: &mut DimensionsDecoder) -> Result<StoredRecord> {
        let (Some(domain), Some(class), Some(held)) = (self.domain_name, self.charge_class, self.held) else {
            return Err(StoreError::Damaged(format!("there is no slice kind {}", self.kind)));
        };
        Ok(StoredRecord {
            stored: NewRecord {
                kernel: KernelKey(self.kernel_key),
                span: TimeSpan {
                    start: Timestamp::from_micros(self.period_start),
                    end: Timestamp::from_micros(self.period_end),
                },
                kind: self.kind,
                slices: u32::try_from(self.slices).unwrap_or(1),
            },
            kernel: KernelId(self.kernel_id),
            session: SessionId(self.session_id),
            owner: Member { user: UserId(self.user_uuid), project: ProjectId(self.project_id) },
            dimensions: dimensions.decode(&domain, &class),
            slots: slots.decode(&held)?,
        })
    }
}

async fn read(db: &impl ConnectionTrait, sql: &str, values: Vec<Value>) -> Result<Vec<StoredRecord>> {
    let (mut slots, mut dimensions) = (SlotDecoder::new(), DimensionsDecoder::default());
    let statement = Statement::from_sql_and_values(db.get_database_backend(), sql, values);
    let rows = RecordRow::find_by_statement(statement).all(db).await?;
    rows.into_iter().map(|row| row.decode(&mut slots, &mut dimensions)).collect()
}

/// Stores new records. A record that exists already is an error, so that no usage counts twice.
#[tracing::instrument(name = "db.records.insert", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn insert(db: &impl ConnectionTrait, group: GroupKey, records: &[NewRecord]) -> Result<()> {
    bulk::insert(db, records.iter().map(|record| row(group, record)), None).await?;
    Ok(())
}

fn row(group: GroupKey, record: &NewRecord) -> ActiveModel {
    ActiveModel {
        group_key: Set(group.0),
        period_end: Set(record.span.end.micros()),
        kernel_key: Set(record.kernel.0),
        period_start: Set(record.span.start.micros()),
        kind: Set(record.kind),
        slices: Set(record.slices.cast_signed()),
    }
}

/// Updates the kinds of stored records.
#[tracing::instrument(name = "db.records.set_kinds", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn set_kinds(db: &impl ConnectionTrait, group: GroupKey, records: &[NewRecord]) -> Result<()> {
    let mut stored = OnConflict::columns([Column::GroupKey, Column::PeriodEnd, Column::KernelKey]);
    stored.update_column(Column::Kind);
    bulk::insert(db, records.iter().map(|record| row(group, record)), Some(stored)).await?;
    Ok(())
}

/// A range of one kernel's records: those that end after `after` and at `until` or earlier.
#[derive(Clone, Copy, Debug)]
pub struct RecordRange {
    pub kernel: KernelKey,
    pub after: Timestamp,
    pub until: Timestamp,
}

/// The end of the last record of a kernel `$key` that ends by `$until` and after `$after`. Mostly a record ends exactly at
/// `$until`. Otherwise, because the kernel was suspended or no run recorded it, the records of the group are searched
/// backwards from there.
macro_rules! end_of_last {
    ($key:literal, $after:literal, $until:literal) => {
        concat!(
            "COALESCE((SELECT e.period_end FROM usage_slices e WHERE e.group_key = $1 AND e.period_end = ",
            $until,
            " AND e.kernel_key = ",
            $key,
            " AND e.period_end > ",
            $after,
            "), (SELECT e.period_end FROM usage_slices e WHERE e.group_key = $1 AND e.period_end < ",
            $until,
            " AND e.period_end > ",
            $after,
            " AND e.kernel_key = ",
            $key,
            " ORDER BY e.period_end DESC LIMIT 1))"
        )
    };
}

use end_of_last;

/// The SQL of the records of the kernels that a query `picked` selects, with the bounds of each kernel's range, as `chain`.
fn chains_sql(backend: DbBackend, picked: &str) -> String {
    let first = end_of_last!("o.kernel_key", "o.after_micros", "o.until_micros");
    let next = end_of_last!("o.kernel_key", "o.after_micros", "o.period_start");
    format!(
        "WITH RECURSIVE picked (kernel_key, after_micros, until_micros) AS ({picked}), \
         chain (kernel_key, period_start, period_end, kind, slices, after_micros) AS (\
         SELECT s.kernel_key, s.period_start, s.period_end, s.kind, s.slices, o.after_micros FROM picked o {} UNION ALL \
         SELECT s.kernel_key, s.period_start, s.period_end, s.kind, s.slices, o.after_micros FROM chain o {} \
         WHERE o.period_start > o.after_micros)",
        join_ending(backend, first),
        join_ending(backend, next),
    )
}

/// Joins the record `s` of the kernel of `o` that ends at `end`. The form for `PostgreSQL` makes it find the end first, and
/// then the one record. Otherwise it would search every partition, or read them whole.
fn join_ending(backend: DbBackend, end: &str) -> String {
    let its = "s.group_key = $1 AND s.kernel_key = o.kernel_key AND s.period_end";
    match backend {
        DbBackend::Postgres => format!(
            "CROSS JOIN LATERAL (SELECT {end} AS period_end OFFSET 0) x \
             CROSS JOIN LATERAL (SELECT s.kernel_key, s.period_start, s.period_end, s.kind, s.slices FROM usage_slices s \
             WHERE {its} = x.period_end LIMIT 1) s"
        ),
        _ => format!("JOIN usage_slices s ON {its} = {end}"),
    }
}

/// The records of one kernel in a range, by start.
#[tracing::instrument(name = "db.records.stretch", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn load_record_range(
    db: &impl ConnectionTrait,
    group: GroupKey,
    wanted: RecordRange,
) -> Result<Vec<StoredRecord>> {
    let chains =
        chains_sql(db.get_database_backend(), "SELECT CAST($2 AS BIGINT), CAST($3 AS BIGINT), CAST($4 AS BIGINT)");
    let sql = format!("{chains} SELECT {ROW_COLUMNS} FROM chain s {JOIN_KERNEL_AND_KIND} ORDER BY s.period_end");
    let values = [wanted.kernel.0, wanted.after.micros(), wanted.until.micros()].map(Value::from);
    read(db, &sql, [vec![group.0.into()], values.into()].concat()).await
}

/// The end of the last record in a range.
#[tracing::instrument(name = "db.records.last_end", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn last_end(db: &impl ConnectionTrait, group: GroupKey, wanted: RecordRange) -> Result<Option<Timestamp>> {
    let end = end_of_last!("w.kernel_key", "w.after_micros", "w.until_micros");
    let sql = format!(
        "SELECT {end} AS last_end FROM (SELECT CAST($2 AS BIGINT) AS kernel_key, CAST($3 AS BIGINT) AS after_micros, \
         CAST($4 AS BIGINT) AS until_micros) w"
    );
    let values = [wanted.kernel.0, wanted.after.micros(), wanted.until.micros()].map(Value::from);
    let values = [vec![group.0.into()], values.into()].concat();
    let row = db.query_one_raw(Statement::from_sql_and_values(db.get_database_backend(), sql, values)).await?;
    let end: Option<i64> = row.map(|row| row.try_get("", "last_end")).transpose()?.flatten();
    Ok(end.map(Timestamp::from_micros))
}

/// The number of records of a group on days before `before`, from `from` on.
#[tracing::instrument(name = "db.records.count", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn count(db: &impl ConnectionTrait, group: GroupKey, from: Option<Day>, before: Day) -> Result<u64> {
    let later = from.map(|day| Column::PeriodEnd.gt(day.start().micros()));
    let counted = Entity::find()
        .filter(Column::GroupKey.eq(group.0))
        .filter(Condition::all().add_option(later))
        .filter(Column::PeriodEnd.lte(before.start().micros()));
    Ok(counted.count(db).await?)
}

/// The number of records of several groups on days before `before`.
#[tracing::instrument(name = "db.records.count_of_groups", level = "debug", skip_all, err(level = "debug"))]
pub async fn count_of_groups(
    db: &impl ConnectionTrait,
    groups: impl IntoIterator<Item = GroupKey>,
    before: Day,
) -> Result<u64> {
    let counted = Entity::find()
        .filter(Column::GroupKey.is_in(groups.into_iter().map(|group| group.0)))
        .filter(Column::PeriodEnd.lte(before.start().micros()));
    Ok(counted.count(db).await?)
}

/// The position after the last record of a page.
pub type PageEnd = (i64, i64);

/// The next page of a group's records by end, from the start of `from` on.
#[tracing::instrument(name = "db.records.page", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn page(
    db: &impl ConnectionTrait,
    group: GroupKey,
    from: Day,
    after: Option<PageEnd>,
    limit: u64,
) -> Result<(Vec<StoredRecord>, Option<PageEnd>)> {
    let after = after.unwrap_or((from.start().micros(), i64::MAX));
    page_where(db, group, after, limit, None).await
}

/// The next page of the records of a group that count for a domain, by end.
#[tracing::instrument(name = "db.records.page_of_domain", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn page_of_domain(
    db: &impl ConnectionTrait,
    group: GroupKey,
    domain: &str,
    after: Option<PageEnd>,
    limit: u64,
) -> Result<(Vec<StoredRecord>, Option<PageEnd>)> {
    page_where(db, group, after.unwrap_or((0, i64::MAX)), limit, Some(domain)).await
}

async fn page_where(
    db: &impl ConnectionTrait,
    group: GroupKey,
    (end, kernel): PageEnd,
    limit: u64,
    domain: Option<&str>,
) -> Result<(Vec<StoredRecord>, Option<PageEnd>)> {
    let of_domain = domain.map_or("", |_| " AND d.domain_name = $4");
    let sql = format!(
        "SELECT {ROW_COLUMNS} FROM usage_slices s {JOIN_KERNEL_AND_KIND} WHERE s.group_key = $1 AND s.period_end >= $2 \
         AND (s.period_end > $2 OR s.kernel_key > $3){of_domain} ORDER BY s.period_end, s.kernel_key LIMIT {limit}"
    );
    let mut values: Vec<Value> = vec![group.0.into(), end.into(), kernel.into()];
    values.extend(domain.map(Value::from));
    let records = read(db, &sql, values).await?;
    let position = records.last().map(|record| (record.span().end.micros(), record.stored.kernel.0));
    Ok((records, position))
}

/// Removes the records of one kernel that end at `ends`.
#[tracing::instrument(name = "db.records.delete", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn delete(
    db: &impl ConnectionTrait,
    group: GroupKey,
    kernel: KernelKey,
    ends: impl IntoIterator<Item = Timestamp>,
) -> Result<()> {
    Entity::delete_many()
        .filter(Column::GroupKey.eq(group.0))
        .filter(Column::PeriodEnd.is_in(ends.into_iter().map(Timestamp::micros)))
        .filter(Column::KernelKey.eq(kernel.0))
        .exec(db)
        .await?;
    Ok(())
}

/// Removes at most `most` records of a group on days before `before`, the oldest first. Returns their number. On
/// `PostgreSQL` records in the partition of a day are removed with the partition.
#[tracing::instrument(name = "db.records.remove", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn remove(db: &impl ConnectionTrait, group: GroupKey, before: Day, most: u64) -> Result<u64> {
    // A record that ends at midnight belongs to the day before.
    let table = match db.get_database_backend() {
        DbBackend::Postgres => "usage_slices_other",
        _ => "usage_slices",
    };
    let sql = format!(
        "DELETE FROM {table} WHERE group_key = $1 AND (period_end, kernel_key) IN (SELECT period_end, kernel_key \
         FROM {table} WHERE group_key = $1 AND period_end <= $2 ORDER BY period_end, kernel_key LIMIT {most})"
    );
    let values = [group.0.into(), before.start().micros().into()];
    let done = db.execute_raw(Statement::from_sql_and_values(db.get_database_backend(), sql, values)).await?;
    Ok(done.rows_affected())
}

/// The first kernel of a group with two records that overlap.
#[tracing::instrument(
    name = "db.records.first_overlap",
    level = "debug",
    skip_all,
    fields(group = group.0),
    err(level = "debug")
)]
pub async fn first_overlap(db: &impl ConnectionTrait, group: GroupKey) -> Result<Option<(KernelId, Timestamp)>> {
    #[derive(FromQueryResult)]
    struct OverlapRow {
        kernel_id: Uuid,
        period_start: i64,
    }
    let sql = "SELECT k.kernel_id, o.period_start FROM (SELECT kernel_key, period_start, \
               LAG(period_end) OVER (PARTITION BY kernel_key ORDER BY period_end) AS previous_end \
               FROM usage_slices WHERE group_key = $1) AS o JOIN kernels k ON k.kernel_key = o.kernel_key \
               WHERE o.previous_end > o.period_start ORDER BY k.kernel_id, o.period_start LIMIT 1";
    let statement = Statement::from_sql_and_values(db.get_database_backend(), sql, [group.0.into()]);
    let found = OverlapRow::find_by_statement(statement).one(db).await?;
    Ok(found.map(|o| (KernelId(o.kernel_id), Timestamp::from_micros(o.period_start))))
}
