//! Statements that the steps have in common, each run at once.

use sea_orm::sea_query::{ColumnDef, Index, Table, TableCreateStatement};
use sea_orm::{ConnectionTrait, DatabaseTransaction, DbErr};

pub async fn create(db: &DatabaseTransaction, table: TableCreateStatement) -> Result<(), DbErr> {
    db.execute(&table).await.map(|_| ())
}

pub async fn drop_table(db: &DatabaseTransaction, table: &'static str) -> Result<(), DbErr> {
    db.execute(Table::drop().table(table)).await.map(|_| ())
}

pub async fn add_column(db: &DatabaseTransaction, table: &'static str, mut column: ColumnDef) -> Result<(), DbErr> {
    db.execute(Table::alter().table(table).add_column(&mut column)).await.map(|_| ())
}

pub async fn drop_column(db: &DatabaseTransaction, table: &'static str, column: &str) -> Result<(), DbErr> {
    db.execute(Table::alter().table(table).drop_column(column.to_owned())).await.map(|_| ())
}

pub async fn drop_index(db: &DatabaseTransaction, table: &'static str, index: &str) -> Result<(), DbErr> {
    db.execute(Index::drop().name(index).table(table)).await.map(|_| ())
}

/// Runs statements in their order.
pub async fn run(db: &DatabaseTransaction, statements: &[&str]) -> Result<(), DbErr> {
    for sql in statements {
        db.execute_unprepared(sql).await?;
    }
    Ok(())
}
