//! Statements that several steps share, each executed at once.

use sea_orm::sea_query::{ColumnDef, Index, Table, TableCreateStatement};
use sea_orm::{ConnectionTrait, DbBackend, DbErr, QueryResult, Statement, Value};
use sea_orm_migration::SchemaManagerConnection;

pub async fn create(db: &SchemaManagerConnection<'_>, table: TableCreateStatement) -> Result<(), DbErr> {
    db.execute(&table).await.map(|_| ())
}

pub async fn drop_table(db: &SchemaManagerConnection<'_>, table: &'static str) -> Result<(), DbErr> {
    db.execute(Table::drop().table(table)).await.map(|_| ())
}

pub async fn add_column(
    db: &SchemaManagerConnection<'_>,
    table: &'static str,
    mut column: ColumnDef,
) -> Result<(), DbErr> {
    db.execute(Table::alter().table(table).add_column(&mut column)).await.map(|_| ())
}

pub async fn drop_column(db: &SchemaManagerConnection<'_>, table: &'static str, column: &str) -> Result<(), DbErr> {
    db.execute(Table::alter().table(table).drop_column(column.to_owned())).await.map(|_| ())
}

pub async fn drop_index(db: &SchemaManagerConnection<'_>, table: &'static str, index: &str) -> Result<(), DbErr> {
    db.execute(Index::drop().name(index).table(table)).await.map(|_| ())
}

/// Runs statements in their order.
pub async fn run(db: &SchemaManagerConnection<'_>, statements: &[&str]) -> Result<(), DbErr> {
    for sql in statements {
        db.execute_unprepared(sql).await?;
    }
    Ok(())
}

/// Runs statements that only `PostgreSQL` needs.
pub async fn run_on_postgres(db: &SchemaManagerConnection<'_>, statements: &[&str]) -> Result<(), DbErr> {
    if db.get_database_backend() == DbBackend::Postgres {
        run(db, statements).await?;
    }
    Ok(())
}

pub async fn query<const N: usize>(
    db: &SchemaManagerConnection<'_>,
    sql: &str,
    values: [Value; N],
) -> Result<Vec<QueryResult>, DbErr> {
    db.query_all_raw(Statement::from_sql_and_values(db.get_database_backend(), sql, values)).await
}

pub async fn execute<const N: usize>(
    db: &SchemaManagerConnection<'_>,
    sql: &str,
    values: [Value; N],
) -> Result<(), DbErr> {
    db.execute_raw(Statement::from_sql_and_values(db.get_database_backend(), sql, values)).await.map(|_| ())
}

/// The keys and names of all groups.
pub async fn groups(db: &SchemaManagerConnection<'_>) -> Result<Vec<(i32, String)>, DbErr> {
    let rows = query(db, "SELECT group_key, name FROM resource_groups ORDER BY group_key", []).await?;
    rows.iter().map(|row| Ok((row.try_get("", "group_key")?, row.try_get("", "name")?))).collect()
}
