//! Tables with rows by group and day: removal of days before or after a given one.

use std::fmt::Debug;

use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, Value};

use super::Result;
use super::retention::remove_all;
use crate::domain::time::Day;

/// Rows that each belong to one group and one day.
pub trait RowsByDay {
    type Entity: EntityTrait;
    const TABLE: &'static str;
    const GROUP: <Self::Entity as EntityTrait>::Column;
    const DAY: <Self::Entity as EntityTrait>::Column;
}

/// Removes the rows of days after `today`.
#[tracing::instrument(name = "db.day_rows.forget_after", level = "debug", skip_all, fields(table = T::TABLE, group = ?group), err(level = "debug"))]
pub async fn forget_after<T: RowsByDay>(
    db: &impl ConnectionTrait,
    group: impl Into<Value> + Debug,
    today: Day,
) -> Result<()> {
    T::Entity::delete_many().filter(T::GROUP.eq(group)).filter(T::DAY.gt(today.0)).exec(db).await?;
    Ok(())
}

/// Removes the rows of days before `before`, in steps. Returns their number.
#[tracing::instrument(name = "db.day_rows.purge", level = "debug", skip_all, fields(table = T::TABLE, group = ?group), err(level = "debug"))]
pub async fn purge<T: RowsByDay>(
    db: &impl ConnectionTrait,
    group: impl Into<Value> + Debug,
    before: Day,
) -> Result<u64> {
    remove_all(db, T::Entity::find().filter(T::GROUP.eq(group)).filter(T::DAY.lt(before.0))).await
}
