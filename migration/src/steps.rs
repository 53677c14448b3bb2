//! Which steps a database has, and how one more is applied or reverted: whole or not at all, on `SQLite` too, because what
//! broke off half-way could not be done again.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sea_orm::sea_query::{ColumnDef, Expr, ExprTrait, OnConflict, Query, Table};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, DbErr, Statement, TransactionTrait};

use super::Step;
use super::columns::big_integer;

/// The record of the steps. Databases of every version have it under this name.
const RECORD: &str = "seaql_migrations";

/// The names of the steps that the database has. Needs no right to change it.
pub async fn applied(db: &impl ConnectionTrait) -> Result<BTreeSet<String>, DbErr> {
    let backend = db.get_database_backend();
    let known = match backend {
        DbBackend::Postgres => format!("SELECT 1 AS known WHERE to_regclass('{RECORD}') IS NOT NULL"),
        _ => format!("SELECT 1 AS known FROM sqlite_master WHERE type = 'table' AND name = '{RECORD}'"),
    };
    if db.query_one_raw(Statement::from_string(backend, known)).await?.is_none() {
        return Ok(BTreeSet::new());
    }
    let names = Query::select().column("version").from(RECORD).to_owned();
    db.query_all(&names).await?.iter().map(|row| row.try_get("", "version")).collect()
}

/// The lock under which the record is made. Only its being always the same counts.
const RECORD_LOCK: i64 = 0x6661_6972;

/// Makes the record of the steps unless there is one.
pub async fn keep_record(db: &DatabaseConnection) -> Result<(), DbErr> {
    let record = Table::create()
        .table(RECORD)
        .if_not_exists()
        // The name of the step.
        .col(ColumnDef::new("version").string().not_null().primary_key())
        // When it was applied, in seconds since 1970 by the clock of the process that did so. Only people read it.
        .col(big_integer("applied_at"))
        .to_owned();
    if db.get_database_backend() != DbBackend::Postgres {
        return db.execute(&record).await.map(|_| ());
    }
    // Of two processes that make the same table at the same time PostgreSQL refuses one, even when each does so only if it is
    // missing.
    let transaction = db.begin().await?;
    transaction.execute_unprepared(&format!("SELECT pg_advisory_xact_lock({RECORD_LOCK})")).await?;
    transaction.execute(&record).await?;
    transaction.commit().await
}

/// Applies a step, unless another process has just done so: its name goes into the record first, and of two processes that
/// insert one name the second waits for the first.
pub async fn apply(db: &DatabaseConnection, step: &Step) -> Result<(), DbErr> {
    let transaction = db.begin().await?;
    let note = Query::insert()
        .into_table(RECORD)
        .columns(["version", "applied_at"])
        .values_panic([Expr::value(step.name), Expr::value(now())])
        .on_conflict(OnConflict::column("version").do_nothing().to_owned())
        .to_owned();
    if transaction.execute(&note).await?.rows_affected() == 1 {
        step.change.up(&transaction).await?;
        tracing::info!(step = step.name, "the migration was applied");
    }
    transaction.commit().await
}

/// Reverts a step, unless another process has just done so.
pub async fn revert(db: &DatabaseConnection, step: &Step) -> Result<(), DbErr> {
    let transaction = db.begin().await?;
    let note = Query::delete().from_table(RECORD).and_where(Expr::col("version").eq(step.name)).to_owned();
    if transaction.execute(&note).await?.rows_affected() == 1 {
        step.change.down(&transaction).await?;
        tracing::info!(step = step.name, "the migration was reverted");
    }
    transaction.commit().await
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).as_ref().map_or(0, Duration::as_secs);
    since.cast_signed()
}
