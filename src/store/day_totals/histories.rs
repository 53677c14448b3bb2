//! Histories: usage of earlier times that was imported from elsewhere, as day totals under the name of their origin.

use std::collections::{BTreeMap, BTreeSet};

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Select};

use super::{MemberDomain, row};
use crate::domain::bucket::DayUsage;
use crate::domain::ids::{GroupKey, UserId};
use crate::domain::time::{Day, Timestamp};
use crate::store::Result;
use crate::store::entity::day_total;
use crate::store::entity::usage_history::{ActiveModel, Column, Entity, Model};

/// One history of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredHistory {
    /// The source number of its rows.
    pub source: i32,
    pub name: String,
    /// True once all its rows are stored; before that none of them counts.
    pub is_complete: bool,
    pub created_at: Timestamp,
}

impl From<Model> for StoredHistory {
    fn from(row: Model) -> Self {
        let Model { source, name, complete, created_at, .. } = row;
        Self { source, name, is_complete: complete, created_at: Timestamp::from_micros(created_at) }
    }
}

fn of_group(group: GroupKey) -> Select<Entity> {
    Entity::find().filter(Column::GroupKey.eq(group.0))
}

/// The histories of a group by name.
#[tracing::instrument(name = "db.histories.list", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn list(db: &impl ConnectionTrait, group: GroupKey) -> Result<Vec<StoredHistory>> {
    let rows = of_group(group).order_by_asc(Column::Name).all(db).await?;
    Ok(rows.into_iter().map(StoredHistory::from).collect())
}

#[tracing::instrument(name = "db.histories.find", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn find(db: &impl ConnectionTrait, group: GroupKey, name: &str) -> Result<Option<StoredHistory>> {
    Ok(of_group(group).filter(Column::Name.eq(name)).one(db).await?.map(StoredHistory::from))
}

/// Creates a history, whose name the group must not have. Returns its number.
#[tracing::instrument(name = "db.histories.create", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn create(db: &impl ConnectionTrait, group: GroupKey, name: &str, now: Timestamp) -> Result<i32> {
    let last = of_group(group).order_by_desc(Column::Source).one(db).await?;
    let source = last.map_or(super::RECORDED, |row| row.source) + 1;
    let row = ActiveModel {
        group_key: Set(group.0),
        source: Set(source),
        name: Set(name.to_owned()),
        complete: Set(false),
        created_at: Set(now.micros()),
    };
    Entity::insert(row).exec_without_returning(db).await?;
    Ok(source)
}

/// Sets whether all rows of a history are stored.
#[tracing::instrument(name = "db.histories.set_complete", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn set_complete(db: &impl ConnectionTrait, group: GroupKey, source: i32, complete: bool) -> Result<()> {
    let update = Entity::update_many().col_expr(Column::Complete, Expr::value(complete));
    update.filter(Column::GroupKey.eq(group.0)).filter(Column::Source.eq(source)).exec(db).await?;
    Ok(())
}

/// Stores rows of a history. A row of the same day and place replaces the one before.
#[tracing::instrument(name = "db.histories.add", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn add(
    db: &impl ConnectionTrait,
    group: GroupKey,
    source: i32,
    rows: &BTreeMap<(Day, MemberDomain), DayUsage>,
) -> Result<()> {
    super::add(db, rows.iter().map(|((day, place), daily)| row(group, *day, place, source, daily))).await
}

/// Adds usage to rows of a history, and inserts rows of days and places that are missing.
#[tracing::instrument(name = "db.histories.add_more", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn add_more(
    db: &impl ConnectionTrait,
    group: GroupKey,
    source: i32,
    mut more: BTreeMap<(Day, MemberDomain), DayUsage>,
) -> Result<()> {
    let mut users: BTreeMap<Day, BTreeSet<UserId>> = BTreeMap::new();
    for (day, (member, _)) in more.keys() {
        users.entry(*day).or_default().insert(member.user);
    }
    for (day, users) in users {
        let users: Vec<UserId> = users.into_iter().collect();
        for (place, known) in super::rows_of(db, group, day, source, &users).await? {
            if let Some(daily) = more.get_mut(&(day, place)) {
                daily.add_records(&known.usage, known.records);
            }
        }
    }
    add(db, group, source, &more).await
}

/// The first and the last day of a history.
#[tracing::instrument(name = "db.histories.days", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn days(db: &impl ConnectionTrait, group: GroupKey, source: i32) -> Result<Option<(Day, Day)>> {
    let found: Option<(Option<i32>, Option<i32>)> = day_total::Entity::find()
        .select_only()
        .column_as(day_total::Column::Day.min(), "first")
        .column_as(day_total::Column::Day.max(), "last")
        .filter(day_total::Column::GroupKey.eq(group.0))
        .filter(day_total::Column::Source.eq(source))
        .into_tuple()
        .one(db)
        .await?;
    Ok(found.and_then(|(first, last)| Some((Day(first?), Day(last?)))))
}

/// Removes the rows of a history from `from` to `to`, both included.
#[tracing::instrument(name = "db.histories.remove_days", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn remove_days(db: &impl ConnectionTrait, group: GroupKey, source: i32, from: Day, to: Day) -> Result<()> {
    day_total::Entity::delete_many()
        .filter(day_total::Column::GroupKey.eq(group.0))
        .filter(day_total::Column::Day.between(from.0, to.0))
        .filter(day_total::Column::Source.eq(source))
        .exec(db)
        .await?;
    Ok(())
}

/// Removes a history, whose rows must be removed already.
#[tracing::instrument(name = "db.histories.remove", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn remove(db: &impl ConnectionTrait, group: GroupKey, source: i32) -> Result<()> {
    Entity::delete_by_id((group.0, source)).exec(db).await?;
    Ok(())
}
