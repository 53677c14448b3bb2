//! Usage records: one slice of one kernel, inside one day. The source of truth for buckets.

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Condition, Expr, ExprTrait, JoinType};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, IntoSimpleExpr, QueryFilter, QueryOrder, QuerySelect,
    Statement,
};
use uuid::Uuid;

use super::entity::kernel;
use super::entity::usage_record::{ActiveModel, Column, Entity, Model};
use super::key_list::{KeyOrder, KeyPage, KeyWindow};
use super::{Result, bulk, decode, key_list};
use crate::domain::ids::{KernelId, Member, ProjectId, SessionId, UserId};
use crate::domain::slots::Usages;
use crate::domain::time::{Day, Span, Timestamp};

/// One slice as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub kernel: KernelId,
    pub session: SessionId,
    pub owner: Member,
    pub domain: String,
    pub span: Span,
    /// Slot-seconds.
    pub usage: Usages,
}

fn decode_row(row: Model) -> Result<Record> {
    let (start, end) = (Timestamp::from_micros(row.period_start), Timestamp::from_micros(row.period_end));
    Ok(Record {
        kernel: KernelId(row.kernel_id),
        session: SessionId(row.session_id),
        owner: Member { user: UserId(row.user_uuid), project: ProjectId(row.project_id) },
        domain: row.domain_name,
        span: Span { start, end },
        usage: decode::slots(&row.resource_usage)?,
    })
}

/// Stores new records. A record that exists already is an error, never a silent second count.
#[tracing::instrument(name = "db.records.insert", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn insert(db: &impl ConnectionTrait, group: &str, records: &[Record]) -> Result<()> {
    let rows = records.iter().map(|record| ActiveModel {
        kernel_id: Set(record.kernel.0),
        period_start: Set(record.span.start.micros()),
        period_end: Set(record.span.end.micros()),
        session_id: Set(record.session.0),
        user_uuid: Set(record.owner.user.0),
        project_id: Set(record.owner.project.0),
        domain_name: Set(record.domain.clone()),
        resource_group: Set(group.to_owned()),
        resource_usage: Set(record.usage.to_json()),
    });
    bulk::insert(db, rows, None).await?;
    Ok(())
}

/// Whose records, and of when.
#[derive(Clone, Copy, Debug)]
pub struct RecordFilter {
    pub user: Option<UserId>,
    pub project: Option<ProjectId>,
    pub span: Span,
}

/// One window on the records of a group by kernel, then by time.
#[tracing::instrument(name = "db.records.list", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn list(
    db: &impl ConnectionTrait,
    group: &str,
    filter: &RecordFilter,
    window: &KeyWindow<(Uuid, i64)>,
) -> Result<KeyPage<Record>> {
    let RecordFilter { user, project, span } = filter;
    let of_kernel = Entity::belongs_to(kernel::Entity).from(Column::KernelId).to(kernel::Column::KernelId);
    let matching = Entity::find()
        .join(JoinType::InnerJoin, of_kernel.into())
        .filter(kernel::Column::ResourceGroup.eq(group))
        .filter(Condition::all().add_option(user.map(|user| kernel::Column::UserUuid.eq(user.0))))
        .filter(Condition::all().add_option(project.map(|project| kernel::Column::ProjectId.eq(project.0))))
        .filter(kernel::Column::StartedAt.lt(span.end.micros()))
        .filter(kernel::Column::TerminatedAt.is_null().or(kernel::Column::TerminatedAt.gt(span.start.micros())))
        // A record lies in one day: this is a range of the key.
        .filter(Column::PeriodStart.gte(span.start.day().start().micros()))
        .filter(Column::PeriodStart.lt(span.end.micros()))
        .filter(Column::PeriodEnd.gt(span.start.micros()));
    let columns = vec![kernel::Column::KernelId.into_simple_expr(), Column::PeriodStart.into_simple_expr()];
    let order = KeyOrder { columns, descending: false };
    let values = |(kernel, start): &(Uuid, i64)| vec![Expr::value(*kernel), Expr::value(*start)];
    key_list::page(db, matching, order, window, values).await?.try_map(decode_row)
}

/// The position after the last record of a page.
pub type Position = (i64, Uuid);

/// The next page of a group's records by start, from the start of `from` on.
#[tracing::instrument(name = "db.records.page", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn page(
    db: &impl ConnectionTrait,
    group: &str,
    from: Day,
    after: Option<Position>,
    limit: u64,
) -> Result<(Vec<Record>, Option<Position>)> {
    let later = after.map(|(start, kernel)| {
        Condition::any()
            .add(Column::PeriodStart.gt(start))
            .add(Condition::all().add(Column::PeriodStart.eq(start)).add(Column::KernelId.gt(kernel)))
    });
    let floor = after.map_or(from.start().micros(), |(start, _)| start);
    let rows = Entity::find()
        .filter(Column::ResourceGroup.eq(group))
        .filter(Column::PeriodStart.gte(floor))
        .filter(Condition::all().add_option(later))
        .order_by_asc(Column::PeriodStart)
        .order_by_asc(Column::KernelId)
        .limit(limit)
        .all(db)
        .await?;
    let position = rows.last().map(|row| (row.period_start, row.kernel_id));
    Ok((rows.into_iter().map(decode_row).collect::<Result<_>>()?, position))
}

/// All records of one kernel by start.
#[tracing::instrument(name = "db.records.of_kernel", level = "debug", skip_all, err(level = "debug"))]
pub async fn of_kernel(db: &impl ConnectionTrait, kernel: KernelId) -> Result<Vec<Record>> {
    let rows = Entity::find().filter(Column::KernelId.eq(kernel.0)).order_by_asc(Column::PeriodStart).all(db).await?;
    rows.into_iter().map(decode_row).collect()
}

/// Records of one kernel that lie in `span`, at least in part.
#[tracing::instrument(name = "db.records.overlapping", level = "debug", skip_all, err(level = "debug"))]
pub async fn overlapping(db: &impl ConnectionTrait, kernel: KernelId, span: Span) -> Result<Vec<Record>> {
    let rows = Entity::find()
        .filter(Column::KernelId.eq(kernel.0))
        .filter(Column::PeriodStart.lt(span.end.micros()))
        .filter(Column::PeriodEnd.gt(span.start.micros()))
        .order_by_asc(Column::PeriodStart)
        .all(db)
        .await?;
    rows.into_iter().map(decode_row).collect()
}

/// Records of one kernel that reach past `end`.
#[tracing::instrument(name = "db.records.past_end", level = "debug", skip_all, err(level = "debug"))]
pub async fn past_end(db: &impl ConnectionTrait, kernel: KernelId, end: Timestamp) -> Result<Vec<Record>> {
    let rows = Entity::find()
        .filter(Column::KernelId.eq(kernel.0))
        .filter(Column::PeriodEnd.gt(end.micros()))
        .order_by_asc(Column::PeriodStart)
        .all(db)
        .await?;
    rows.into_iter().map(decode_row).collect()
}

#[tracing::instrument(name = "db.records.delete", level = "debug", skip_all, err(level = "debug"))]
pub async fn delete(db: &impl ConnectionTrait, record: &Record) -> Result<()> {
    Entity::delete_by_id((record.kernel.0, record.span.start.micros())).exec(db).await?;
    Ok(())
}

/// Removes the records of one kernel that reach past `end`.
#[tracing::instrument(name = "db.records.delete_past", level = "debug", skip_all, err(level = "debug"))]
pub async fn delete_past(db: &impl ConnectionTrait, kernel: KernelId, end: Timestamp) -> Result<()> {
    let past = Entity::delete_many().filter(Column::KernelId.eq(kernel.0));
    past.filter(Column::PeriodEnd.gt(end.micros())).exec(db).await?;
    Ok(())
}

/// Until when usage of one kernel is recorded.
#[tracing::instrument(name = "db.records.last_end", level = "debug", skip_all, err(level = "debug"))]
pub async fn last_end(db: &impl ConnectionTrait, kernel: KernelId) -> Result<Option<Timestamp>> {
    let last = Entity::find().select_only().column(Column::PeriodEnd).filter(Column::KernelId.eq(kernel.0));
    let end: Option<i64> = last.order_by_desc(Column::PeriodStart).limit(1).into_tuple().one(db).await?;
    Ok(end.map(Timestamp::from_micros))
}

/// Removes a group's records of days before `before`. Returns how many.
#[tracing::instrument(name = "db.records.purge", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn purge(db: &impl ConnectionTrait, group: &str, before: Day) -> Result<u64> {
    let done = Entity::delete_many()
        .filter(Column::ResourceGroup.eq(group))
        .filter(Column::PeriodStart.lt(before.start().micros()))
        .exec(db)
        .await?;
    Ok(done.rows_affected)
}

/// The first kernel of a group two of whose records overlap.
#[tracing::instrument(
    name = "db.records.first_overlap",
    level = "debug",
    skip_all,
    fields(group),
    err(level = "debug")
)]
pub async fn first_overlap(db: &impl ConnectionTrait, group: &str) -> Result<Option<(KernelId, Timestamp)>> {
    #[derive(FromQueryResult)]
    struct Overlap {
        kernel_id: Uuid,
        period_start: i64,
    }
    let sql = "SELECT kernel_id, period_start FROM (SELECT kernel_id, period_start, \
               LAG(period_end) OVER (PARTITION BY kernel_id ORDER BY period_start) AS previous_end \
               FROM kernel_usage_records WHERE resource_group = $1) AS ordered \
               WHERE previous_end > period_start ORDER BY kernel_id, period_start LIMIT 1";
    let statement = Statement::from_sql_and_values(db.get_database_backend(), sql, [group.into()]);
    let found = Overlap::find_by_statement(statement).one(db).await?;
    Ok(found.map(|o| (KernelId(o.kernel_id), Timestamp::from_micros(o.period_start))))
}
