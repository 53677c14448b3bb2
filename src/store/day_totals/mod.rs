//! Day totals: the usage of each user in each project on each day, by the domain that it counted for
//! and by charge class. They are always stored; no other table stands in for them.

pub mod earlier;
pub mod histories;
pub mod placeholder;
pub mod reports;

use std::collections::BTreeSet;

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Select};
use uuid::Uuid;

use super::decode::DimensionsDecoder;
use super::entity::day_total::{ActiveModel, Column, Entity};
use super::entity::user_usage_bucket;
pub use super::records::day_sums::{MemberDomain, OfDay};
use super::{Result, bulk, decode, retention};
use crate::domain::bucket::DayUsage;
use crate::domain::ids::{GroupKey, Member, ProjectId, UserId};
use crate::domain::time::Day;
use crate::domain::usage_dimensions::UsageDimensions;

/// The source number of totals that runs record.
pub const RECORDED: i32 = 0;

fn recorded_totals(group: GroupKey) -> Condition {
    Condition::all().add(Column::GroupKey.eq(group.0)).add(Column::Source.eq(RECORDED))
}

fn member(user: Uuid, project: Uuid) -> Member {
    Member { user: UserId(user), project: ProjectId(project) }
}

/// The first day, from `from` on, that has recorded usage.
#[tracing::instrument(name = "db.day_totals.next_day", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn next_day(db: &impl ConnectionTrait, group: GroupKey, from: Day) -> Result<Option<Day>> {
    let first =
        Entity::find().select_only().column(Column::Day).filter(recorded_totals(group)).filter(Column::Day.gte(from.0));
    let day: Option<i32> = first.order_by_asc(Column::Day).limit(1).into_tuple().one(db).await?;
    Ok(day.map(Day))
}

/// The days from `from` to `to`, both included, that have totals of one of `sources`.
#[tracing::instrument(name = "db.day_totals.days_with_totals", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn days_with_totals(
    db: &impl ConnectionTrait,
    group: GroupKey,
    sources: &[i32],
    (from, to): (Day, Day),
) -> Result<BTreeSet<Day>> {
    let days: Vec<i32> = Entity::find()
        .select_only()
        .column(Column::Day)
        .distinct()
        .filter(Column::GroupKey.eq(group.0))
        .filter(Column::Day.between(from.0, to.0))
        .filter(Column::Source.is_in(sources.iter().copied()))
        .into_tuple()
        .all(db)
        .await?;
    Ok(days.into_iter().map(Day).collect())
}

/// All recorded usage of a day.
#[tracing::instrument(name = "db.day_totals.of_day", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn of_day(db: &impl ConnectionTrait, group: GroupKey, day: Day) -> Result<OfDay> {
    read(db, Entity::find().filter(recorded_totals(group).add(Column::Day.eq(day.0)))).await
}

/// The totals of a day and some users, in all their projects.
#[tracing::instrument(name = "db.day_totals.of_users", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn of_users(db: &impl ConnectionTrait, group: GroupKey, day: Day, users: &[UserId]) -> Result<OfDay> {
    rows_of(db, group, day, RECORDED, users).await
}

/// The rows of one source for a day and some users.
async fn rows_of(db: &impl ConnectionTrait, group: GroupKey, day: Day, source: i32, users: &[UserId]) -> Result<OfDay> {
    let mut found = OfDay::new();
    let place = [(Column::GroupKey, group.0.into()), (Column::Day, day.0.into()), (Column::Source, source.into())];
    for part in users.chunks(bulk::MAX_IDS) {
        let of_users = bulk::one_of_place(db, &place, Column::UserUuid, part.iter().map(|user| user.0));
        found.extend(read(db, Entity::find().filter(of_users)).await?);
    }
    Ok(found)
}

const COLUMNS: [Column; 6] = [
    Column::UserUuid,
    Column::ProjectId,
    Column::DomainName,
    Column::ChargeClass,
    Column::ResourceUsage,
    Column::Records,
];

async fn read(db: &impl ConnectionTrait, which: Select<Entity>) -> Result<OfDay> {
    let rows: Vec<(Uuid, Uuid, String, String, String, i64)> =
        which.select_only().columns(COLUMNS).into_tuple().all(db).await?;
    let mut dimensions = DimensionsDecoder::default();
    let mut found = OfDay::new();
    for (user, project, domain, class, usage, records) in rows {
        let daily = DayUsage { usage: decode::slots(&usage)?, records: records.unsigned_abs() };
        found.insert((member(user, project), dimensions.decode(&domain, &class)), daily);
    }
    Ok(found)
}

/// Stores the totals of a day for some places. A total of zero removes the row.
#[tracing::instrument(name = "db.day_totals.save", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn save(db: &impl ConnectionTrait, group: GroupKey, day: Day, totals: &OfDay) -> Result<()> {
    let kept = totals.iter().filter(|(_, daily)| !daily.is_nothing());
    let rows = kept.map(|(place, daily)| row(group, day, place, RECORDED, daily));
    bulk::replace(db, rows, &KEY, &AMOUNT).await?;
    for ((member, dimensions), _) in totals.iter().filter(|(_, daily)| daily.is_nothing()) {
        let UsageDimensions { domain, charge_class } = dimensions;
        let (user, project) = (member.user.0, member.project.0);
        let key = (group.0, day.0, user, project, domain.to_string(), charge_class.to_string(), RECORDED);
        Entity::delete_by_id(key).exec(db).await?;
    }
    Ok(())
}

/// Replaces the rows of a day.
#[tracing::instrument(name = "db.day_totals.replace_day", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn replace_day(db: &impl ConnectionTrait, group: GroupKey, day: Day, totals: &OfDay) -> Result<()> {
    Entity::delete_many().filter(recorded_totals(group)).filter(Column::Day.eq(day.0)).exec(db).await?;
    add(db, totals.iter().map(|(place, daily)| row(group, day, place, RECORDED, daily))).await
}

const KEY: [Column; 7] = [
    Column::GroupKey,
    Column::Day,
    Column::UserUuid,
    Column::ProjectId,
    Column::DomainName,
    Column::ChargeClass,
    Column::Source,
];
const AMOUNT: [Column; 2] = [Column::ResourceUsage, Column::Records];

/// The rule for conflicts: a row that exists gets the new amount.
fn rule() -> OnConflict {
    OnConflict::columns(KEY).update_columns(AMOUNT).to_owned()
}

/// Stores rows that are mostly new.
async fn add(db: &impl ConnectionTrait, rows: impl Iterator<Item = ActiveModel> + Send) -> Result<()> {
    bulk::insert(db, rows, Some(rule())).await?;
    Ok(())
}

fn row(group: GroupKey, day: Day, (member, dimensions): &MemberDomain, source: i32, daily: &DayUsage) -> ActiveModel {
    ActiveModel {
        group_key: Set(group.0),
        day: Set(day.0),
        user_uuid: Set(member.user.0),
        project_id: Set(member.project.0),
        domain_name: Set(dimensions.domain.to_string()),
        charge_class: Set(dimensions.charge_class.to_string()),
        source: Set(source),
        resource_usage: Set(daily.usage.to_json()),
        records: Set(daily.records.cast_signed()),
    }
}

/// The day of the `count`th row that was recorded before `before`; `None`: there are fewer.
#[tracing::instrument(name = "db.day_totals.nth_day", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn nth_day(db: &impl ConnectionTrait, group: GroupKey, before: Day, count: u64) -> Result<Option<Day>> {
    let old = Entity::find().filter(recorded_totals(group)).filter(Column::Day.lt(before.0));
    retention::nth_day(db, old, Column::Day, count).await
}

/// Removes recorded totals of days before `before`. Histories stay until an admin removes them. Returns the number of rows
/// removed.
#[tracing::instrument(name = "db.day_totals.purge", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn purge(db: &impl ConnectionTrait, group: GroupKey, before: Day) -> Result<u64> {
    let old = recorded_totals(group).add(Column::Day.lt(before.0));
    Ok(Entity::delete_many().filter(old).exec(db).await?.rows_affected)
}

/// A bucket of a user.
pub struct UserBucket {
    pub member: Member,
    pub end: Day,
    pub daily: DayUsage,
}

/// The buckets of users that start on the first day with such buckets, from `from` on and before `before`, with that day.
#[tracing::instrument(name = "db.day_totals.buckets", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn buckets(
    db: &impl ConnectionTrait,
    group: &str,
    from: Day,
    before: Day,
) -> Result<Option<(Day, Vec<UserBucket>)>> {
    use user_usage_bucket::{Column, Entity};
    let of_group = || Entity::find().select_only().filter(Column::ResourceGroup.eq(group));
    let first = of_group().column(Column::PeriodStart).filter(Column::PeriodStart.gte(from.0));
    let first = first.filter(Column::PeriodStart.lt(before.0)).order_by_asc(Column::PeriodStart).limit(1);
    let Some(start) = first.into_tuple::<i32>().one(db).await? else { return Ok(None) };
    let rows: Vec<(Uuid, Uuid, i32, String, i64)> = of_group()
        .columns([Column::UserUuid, Column::ProjectId, Column::PeriodEnd, Column::ResourceUsage, Column::Records])
        .filter(Column::PeriodStart.eq(start))
        .into_tuple()
        .all(db)
        .await?;
    let bucket = |(user, project, end, usage, records): (Uuid, Uuid, i32, String, i64)| {
        let daily = DayUsage { usage: decode::slots(&usage)?, records: records.unsigned_abs() };
        Ok(UserBucket { member: member(user, project), end: Day(end), daily })
    };
    Ok(Some((Day(start), rows.into_iter().map(bucket).collect::<Result<_>>()?)))
}
