//! Removal of rows that are past their retention, in steps, so that no other writer waits for long.

use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{
    ConnectionTrait, EntityTrait, Iterable, PrimaryKeyToColumn, QueryFilter, QueryOrder, QuerySelect, QueryTrait,
    Select,
};

use super::Result;
use crate::domain::time::Day;

/// The number of rows that are removed at once.
pub const STEP_ROWS: u64 = 20_000;

/// The day of the `count`th row of `old`, ordered by `day`; `None`: there are fewer.
pub async fn nth_day<E: EntityTrait>(
    db: &impl ConnectionTrait,
    old: Select<E>,
    day: E::Column,
    count: u64,
) -> Result<Option<Day>> {
    let nth = old.select_only().column(day).order_by_asc(day).offset(count - 1).limit(1);
    Ok(nth.into_tuple().one(db).await?.map(Day))
}

/// Removes at most `most` rows of `old`. Returns their number.
pub async fn remove_some<E: EntityTrait>(db: &impl ConnectionTrait, old: Select<E>, most: u64) -> Result<u64> {
    let key: Vec<E::Column> = E::PrimaryKey::iter().map(PrimaryKeyToColumn::into_column).collect();
    let some = old.select_only().columns(key.iter().copied()).limit(most).into_query();
    let key = Expr::tuple(key.into_iter().map(Expr::col));
    Ok(E::delete_many().filter(key.in_subquery(some)).exec(db).await?.rows_affected)
}

/// Removes all rows of `old`, each step in a transaction of its own. Returns their number.
pub async fn remove_all<E: EntityTrait>(db: &impl ConnectionTrait, old: Select<E>) -> Result<u64> {
    let mut removed = 0;
    loop {
        let step = remove_some(db, old.clone(), STEP_ROWS).await?;
        removed += step;
        if step < STEP_ROWS {
            return Ok(removed);
        }
    }
}
