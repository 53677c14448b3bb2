//! Many rows in few statements.

use sea_orm::sea_query::OnConflict;
use sea_orm::{ActiveModelTrait, ConnectionTrait, DbBackend, EntityTrait, Insert, Iterable};

use super::Result;

/// Rows that one statement may carry: the database's limit on bound values, and a size past which nothing is won.
pub fn rows_per_statement(backend: DbBackend, columns: usize) -> usize {
    let bind_limit = if backend == DbBackend::Sqlite { 32_766 } else { 65_535 };
    (bind_limit / columns.max(1)).clamp(1, 4_000)
}

/// Inserts rows with all columns set, with one rule for those that exist. No key may come twice.
pub async fn insert<A>(db: &impl ConnectionTrait, rows: Vec<A>, on_conflict: Option<OnConflict>) -> Result<()>
where
    A: ActiveModelTrait + Send,
    <A::Entity as EntityTrait>::Model: sea_orm::IntoActiveModel<A>,
{
    let columns = <A::Entity as EntityTrait>::Column::iter().count();
    let chunk = rows_per_statement(db.get_database_backend(), columns);
    let mut rows = rows.into_iter();
    loop {
        let part: Vec<A> = rows.by_ref().take(chunk).collect();
        if part.is_empty() {
            return Ok(());
        }
        let mut statement = Insert::many(part);
        if let Some(rule) = &on_conflict {
            statement = statement.on_conflict(rule.clone());
        }
        statement.exec_without_returning(db).await?;
    }
}
