//! Usage buckets of the three tiers: loaded into a ledger, saved from it, and listed.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::TryStreamExt;
use hashbrown::HashSet;
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::Condition;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, StreamTrait};
use uuid::Uuid;

use super::decode::SlotDecoder;
use super::entity::{domain_usage_bucket, project_usage_bucket, user_usage_bucket};
use super::{Result, bulk, decode, retention};
use crate::domain::bucket::Bucket;
use crate::domain::decimal::Amount;
use crate::domain::fairness::DaySpan;
use crate::domain::ids::{Member, Owner, ProjectId, UserId};
use crate::domain::ledger::Ledger;
use crate::domain::slots::SlotAmounts;
use crate::domain::time::{Day, Timestamp};

/// Loads every bucket of the group that starts at or after the ledger's `loaded_from`, and before `until`. There may be
/// millions, so they are packed one by one while they are read.
#[tracing::instrument(name = "db.buckets.load", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn load(
    db: &(impl ConnectionTrait + StreamTrait),
    group: &str,
    ledger: &mut Ledger,
    until: Option<Day>,
) -> Result<()> {
    let from = ledger.loaded_from();
    let mut capacities = SlotDecoder::<Amount>::new();
    let mut domains: HashSet<Arc<str>> = HashSet::new();
    macro_rules! tier {
        ($table:ident, $($key:ident $part:ident: $type:ty),+ => $owner:expr) => {{
            let mut rows = $table::Entity::find()
                .select_only()
                .columns([
                    $($table::Column::$key,)+
                    $table::Column::PeriodStart,
                    $table::Column::PeriodEnd,
                    $table::Column::DecayUnitDays,
                    $table::Column::ResourceUsage,
                    $table::Column::Records,
                    $table::Column::CapacitySnapshot,
                ])
                .filter($table::Column::ResourceGroup.eq(group))
                .filter($table::Column::PeriodStart.gte(from.0))
                .filter(Condition::all().add_option(until.map(|day| $table::Column::PeriodStart.lt(day.0))))
                .order_by_asc($table::Column::PeriodStart)
                .into_tuple::<($($type,)+ i32, i32, i32, String, i64, String)>()
                .stream(db)
                .await?;
            while let Some(row) = rows.try_next().await? {
                let ($($part,)+ start, end, unit, usage, records, capacity) = row;
                let bucket = Bucket {
                    start: Day(start),
                    end: Day(end),
                    unit_days: u32::try_from(unit).unwrap_or(1),
                    usage: decode::slots(&usage)?,
                    records: u64::try_from(records).unwrap_or(0),
                    capacity: capacities.decode(&capacity)?,
                };
                ledger.load($owner, bucket);
            }
        }};
    }
    tier!(domain_usage_bucket, DomainName name: String => {
        Owner::Domain(Arc::clone(domains.get_or_insert_with(name.as_str(), |n| Arc::from(n))))
    });
    tier!(project_usage_bucket, ProjectId id: Uuid => Owner::Project(ProjectId(id)));
    tier!(user_usage_bucket, UserUuid user: Uuid, ProjectId project: Uuid => {
        Owner::User(Member { user: UserId(user), project: ProjectId(project) })
    });
    Ok(())
}

/// The length of the group's longest bucket in days. Buckets of domains are read for it, because they are few and as long as
/// those of their users.
#[tracing::instrument(name = "db.buckets.longest", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn longest_bucket_days(db: &impl ConnectionTrait, group: &str) -> Result<u32> {
    use domain_usage_bucket::{Column, Entity};
    let longest =
        Entity::find().select_only().expr(Column::DecayUnitDays.max()).filter(Column::ResourceGroup.eq(group));
    let longest: Option<i32> = longest.into_tuple().one(db).await?.flatten();
    Ok(longest.and_then(|days| u32::try_from(days).ok()).unwrap_or(1))
}

/// Reads every bucket of the group's users that has usage on some of `days`.
#[tracing::instrument(name = "db.buckets.of_users", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn of_users(
    db: &(impl ConnectionTrait + StreamTrait),
    group: &str,
    days: DaySpan,
    mut each: impl FnMut(Member, &Bucket),
) -> Result<()> {
    use user_usage_bucket::{Column, Entity};
    let longest = longest_bucket_days(db, group).await?.cast_signed();
    let mut rows = Entity::find()
        .select_only()
        .columns([Column::UserUuid, Column::ProjectId])
        .columns([Column::PeriodStart, Column::PeriodEnd, Column::DecayUnitDays])
        .columns([Column::ResourceUsage, Column::Records, Column::CapacitySnapshot])
        .filter(Column::ResourceGroup.eq(group))
        .filter(Column::PeriodStart.gt(days.first.plus(-longest).0))
        .filter(Column::PeriodStart.lte(days.last.0))
        .filter(Column::PeriodEnd.gte(days.first.0))
        .order_by_asc(Column::PeriodStart)
        .into_tuple::<(Uuid, Uuid, i32, i32, i32, String, i64, String)>()
        .stream(db)
        .await?;
    let mut capacities = SlotDecoder::<Amount>::new();
    while let Some((user, project, start, end, unit, usage, records, capacity)) = rows.try_next().await? {
        let bucket = Bucket {
            start: Day(start),
            end: Day(end),
            unit_days: u32::try_from(unit).unwrap_or(1),
            usage: decode::slots(&usage)?,
            records: u64::try_from(records).unwrap_or(0),
            capacity: capacities.decode(&capacity)?,
        };
        each(Member { user: UserId(user), project: ProjectId(project) }, &bucket);
    }
    Ok(())
}

/// The buckets of one owner that start on `from` or later, ascending.
#[tracing::instrument(name = "db.buckets.of_owner", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn of_owner(db: &impl ConnectionTrait, group: &str, owner: &Owner, from: Day) -> Result<Vec<Bucket>> {
    macro_rules! tier {
        ($table:ident, $($key:ident = $value:expr),+) => {{
            let rows = $table::Entity::find()
                .filter($table::Column::ResourceGroup.eq(group))
                $(.filter($table::Column::$key.eq($value)))+
                .filter($table::Column::PeriodStart.gte(from.0))
                .order_by_asc($table::Column::PeriodStart)
                .all(db)
                .await?;
            let bucket = |row: $table::Model| {
                Ok(Bucket {
                    start: Day(row.period_start),
                    end: Day(row.period_end),
                    unit_days: u32::try_from(row.decay_unit_days).unwrap_or(1),
                    usage: decode::slots(&row.resource_usage)?,
                    records: u64::try_from(row.records).unwrap_or(0),
                    capacity: Arc::new(decode::slots(&row.capacity_snapshot)?),
                })
            };
            rows.into_iter().map(bucket).collect()
        }};
    }
    match owner {
        Owner::Domain(name) => tier!(domain_usage_bucket, DomainName = &**name),
        Owner::Project(id) => tier!(project_usage_bucket, ProjectId = id.0),
        Owner::User(member) => tier!(user_usage_bucket, UserUuid = member.user.0, ProjectId = member.project.0),
    }
}

/// The stored form of capacities. It is cached, because most buckets have the capacity of the bucket before.
#[derive(Default)]
struct CapacityTexts(Option<(Arc<SlotAmounts>, String)>);

impl CapacityTexts {
    fn of(&mut self, capacity: &Arc<SlotAmounts>) -> String {
        let known = self.0.take().filter(|(known, _)| Arc::ptr_eq(known, capacity));
        self.0.insert(known.unwrap_or_else(|| (Arc::clone(capacity), capacity.to_json()))).1.clone()
    }
}

/// Stores the buckets of the ledger with these keys.
#[tracing::instrument(name = "db.buckets.save", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn save(
    db: &impl ConnectionTrait,
    group: &str,
    ledger: &Ledger,
    keys: &BTreeSet<(Owner, Day)>,
    now: Timestamp,
) -> Result<()> {
    // In the order of the indexes by period, so that rows that are read together are stored close together.
    let mut keys: Vec<&(Owner, Day)> = keys.iter().collect();
    keys.sort_by_key(|(_, start)| *start);
    macro_rules! row {
        ($table:ident, $bucket:expr, $capacity:expr, $($key:ident: $value:expr),+) => {
            $table::ActiveModel {
                resource_group: Set(group.to_owned()),
                $($key: Set($value),)+
                period_start: Set($bucket.start.0),
                period_end: Set($bucket.end.0),
                decay_unit_days: Set($bucket.unit_days.cast_signed()),
                resource_usage: Set($bucket.usage.to_json()),
                records: Set($bucket.records.cast_signed()),
                capacity_snapshot: Set($capacity),
                created_at: Set(now.micros()),
                updated_at: Set(now.micros()),
            }
        };
    }
    macro_rules! store {
        ($table:ident, $rows:ident, $($key:ident),+) => {
            bulk::replace(
                db,
                $rows,
                &[$table::Column::ResourceGroup, $($table::Column::$key,)+ $table::Column::PeriodStart],
                &[
                    $table::Column::PeriodEnd,
                    $table::Column::DecayUnitDays,
                    $table::Column::ResourceUsage,
                    $table::Column::Records,
                    $table::Column::CapacitySnapshot,
                    $table::Column::UpdatedAt,
                ],
            )
            .await?;
        };
    }
    macro_rules! of_tier {
        ($owner:pat => $table:ident, $($key:ident: $value:expr),+) => {{
            let mut capacities = CapacityTexts::default();
            keys.iter().filter_map(move |(owner, start)| match owner {
                $owner => {
                    let bucket = ledger.bucket(owner, *start)?;
                    let capacity = capacities.of(&bucket.capacity);
                    Some(row!($table, bucket, capacity, $($key: $value),+))
                }
                _ => None,
            })
        }};
    }
    let domains = of_tier!(Owner::Domain(name) => domain_usage_bucket, domain_name: name.to_string());
    let projects = of_tier!(Owner::Project(id) => project_usage_bucket, project_id: id.0);
    let users = of_tier!(Owner::User(m) => user_usage_bucket, user_uuid: m.user.0, project_id: m.project.0);
    store!(domain_usage_bucket, domains, DomainName);
    store!(project_usage_bucket, projects, ProjectId);
    store!(user_usage_bucket, users, UserUuid, ProjectId);
    Ok(())
}

/// Removes the buckets with these keys.
#[tracing::instrument(name = "db.buckets.delete", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn delete(db: &impl ConnectionTrait, group: &str, keys: &BTreeSet<(Owner, Day)>) -> Result<()> {
    for (owner, start) in keys {
        let group = group.to_owned();
        match owner {
            Owner::Domain(name) => {
                domain_usage_bucket::Entity::delete_by_id((group, name.to_string(), start.0)).exec(db).await?
            }
            Owner::Project(id) => project_usage_bucket::Entity::delete_by_id((group, id.0, start.0)).exec(db).await?,
            Owner::User(m) => {
                user_usage_bucket::Entity::delete_by_id((group, m.user.0, m.project.0, start.0)).exec(db).await?
            }
        };
    }
    Ok(())
}

/// The first day of the `count`th bucket of users that ended before `before`; `None`: there are fewer.
#[tracing::instrument(name = "db.buckets.nth_day", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn nth_day(db: &impl ConnectionTrait, group: &str, before: Day, count: u64) -> Result<Option<Day>> {
    use user_usage_bucket::{Column, Entity};
    let old = Entity::find()
        .filter(Column::ResourceGroup.eq(group))
        .filter(Column::PeriodStart.lt(before.0))
        .filter(Column::PeriodEnd.lt(before.0));
    retention::nth_day(db, old, Column::PeriodStart, count).await
}

/// Removes all buckets of a group that ended before `before`. Returns their number.
#[tracing::instrument(name = "db.buckets.purge", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn purge(db: &impl ConnectionTrait, group: &str, before: Day) -> Result<u64> {
    let mut removed = 0;
    macro_rules! tier {
        ($($table:ident)+) => {$(
            let done = $table::Entity::delete_many()
                .filter($table::Column::ResourceGroup.eq(group))
                // Also by start, which the index has.
                .filter($table::Column::PeriodStart.lt(before.0))
                .filter($table::Column::PeriodEnd.lt(before.0))
                .exec(db)
                .await?;
            removed += done.rows_affected;
        )+};
    }
    tier!(domain_usage_bucket project_usage_bucket user_usage_bucket);
    Ok(removed)
}
