//! The schema of the database, one file for each step, up and down on `SQLite` and `PostgreSQL`.
//!
//! # What columns hold
//! Each file says of each column what it holds, its unit, and what NULL means. A column without a word about NULL is never
//! NULL. Four kinds of values are the same everywhere:
//!
//! - An instant is a number of microseconds since 1970, in UTC. A day is a number of days since 1970, in UTC.
//! - An exact decimal is a text, because a decimal column of `SQLite` is a float.
//! - A slot map is the text of a JSON object from the name of a slot to an exact decimal. Amounts have the unit of their
//!   slot, such as cores, bytes or devices. Usages have that unit times seconds.
//! - A name that people give has at most 64 characters.
//!
//! # Rolling upgrades: expand, then contract
//! On `PostgreSQL` an old and a new version of the program may use one database at the same time, while servers are replaced
//! one after the other. The old version still works only if each step keeps what the old version needs:
//!
//! 1. **Expand.** A version adds tables, columns and indexes. A new column has a default or may be NULL, because the old
//!    version inserts rows without it. The new version reads old rows as well as new ones.
//! 2. **Move.** The step, or a job, fills the new columns of the existing rows.
//! 3. **Contract.** Only a later version drops or renames columns that no supported version reads any more, and only then
//!    adds constraints that the older version would break.
//!
//! A step that cannot be made in this way says so in its file, and CHANGELOG.md says that all servers have to stop for the
//! upgrade. A step is never changed once a version with it was released, because databases that have it would differ from
//! those that get it later. Comments may change.
//!
//! The steps begin with [`m0001_schema`], the schema of version 0.2. A database of version 0.1 gets it without a change of its
//! tables ([`version_0_1`]). Its columns lie in another order, as those of any database do that later steps have changed, so
//! that statements name their columns.

#![allow(clippy::disallowed_methods, reason = "SQL lives here too")]

mod columns;
mod m0001_schema;
mod m0002_connectors;
mod m0003_forecasts;
mod m0004_kernel_agents;
pub mod version_0_1;

use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, DbErr, EntityTrait, Statement};
use sea_orm::{SqliteTransactionMode, TransactionOptions, TransactionTrait};
use sea_orm_migration::{MigrationName, MigrationTrait, MigratorTrait, seaql_migrations};

/// Declares every step once, in the order in which they are applied.
macro_rules! steps {
    ($($module:ident)*) => {
        $(impl MigrationName for $module::Migration {
            fn name(&self) -> &str {
                stringify!($module)
            }
        })*

        impl MigratorTrait for Migrator {
            fn migrations() -> Vec<Box<dyn MigrationTrait>> {
                vec![$(Box::new($module::Migration)),*]
            }
        }

        /// The names of the steps, each with the data that its reversal loses.
        const LOSSES: &[(&str, &str)] = &[$((stringify!($module), $module::LOSES)),*];
    };
}

/// All steps of the schema.
pub struct Migrator;

steps! { m0001_schema m0002_connectors m0003_forecasts m0004_kernel_agents }

/// The steps of a database, in their order.
#[derive(Debug, Default)]
pub struct Schema {
    pub applied: Vec<String>,
    pub pending: Vec<String>,
    /// Steps that a newer version has applied.
    pub unknown: Vec<String>,
    /// The steps of version 0.1 that the database lacks; `None`: the database is not of that version. It is taken over if it
    /// lacks none.
    pub missing_of_version_0_1: Option<Vec<String>>,
}

impl Schema {
    fn of(stored: Vec<String>) -> Self {
        let is_stored = |name: &str| stored.iter().any(|stored| stored == name);
        let (applied, pending): (Vec<&str>, Vec<&str>) =
            LOSSES.iter().map(|(name, _)| *name).partition(|name| is_stored(name));
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        let (applied, pending) = (owned(applied), owned(pending));
        let missing_of_version_0_1 = version_0_1::missing_steps(&stored);
        let is_known = |name: &str| LOSSES.iter().any(|(step, _)| *step == name) || version_0_1::STEPS.contains(&name);
        let unknown = stored.into_iter().filter(|stored| !is_known(stored)).collect();
        Self { applied, pending, unknown, missing_of_version_0_1 }
    }

    /// True if no version has made tables in the database.
    pub fn is_empty(&self) -> bool {
        self.applied.is_empty() && self.unknown.is_empty() && self.missing_of_version_0_1.is_none()
    }

    /// True if the database has exactly the schema that version 0.1 ends with.
    fn is_last_of_version_0_1(&self) -> bool {
        self.applied.is_empty()
            && self.unknown.is_empty()
            && self.missing_of_version_0_1.as_ref().is_some_and(Vec::is_empty)
    }
}

/// Reads the steps that the database has. Needs no right to change it.
pub async fn schema(db: &impl ConnectionTrait) -> Result<Schema, DbErr> {
    Ok(Schema::of(applied_steps(db).await?))
}

/// The names of the steps that the database has. Not asked of the migrator, because it requires the right to create its
/// table even for reading.
async fn applied_steps(db: &impl ConnectionTrait) -> Result<Vec<String>, DbErr> {
    let backend = db.get_database_backend();
    let known = match backend {
        DbBackend::Postgres => "SELECT 1 AS known WHERE to_regclass('seaql_migrations') IS NOT NULL",
        _ => "SELECT 1 AS known FROM sqlite_master WHERE type = 'table' AND name = 'seaql_migrations'",
    };
    if db.query_one_raw(Statement::from_string(backend, known)).await?.is_none() {
        return Ok(Vec::new());
    }
    let rows = seaql_migrations::Entity::find().all(db).await?;
    Ok(rows.into_iter().map(|row| row.version).collect())
}

/// The lock under which steps are applied. The number has no meaning, but must stay the same.
const UPGRADE_LOCK: i64 = 0x6661_6972;

/// Applies every step that the database lacks: all or none. If two processes do so at the same time, the second one waits
/// for the first one, and finds nothing to do. A database of version 0.1 is taken over in the same transaction.
pub async fn up(db: &DatabaseConnection) -> Result<(), DbErr> {
    let transaction = begin_upgrade(db).await?;
    if schema(&transaction).await?.is_last_of_version_0_1() {
        version_0_1::take_over(&transaction, m0001_schema::Migration.name()).await?;
    }
    Migrator::up(&transaction, None).await?;
    transaction.commit().await
}

/// Reverts the last `count` steps that the database has.
pub async fn down(db: &DatabaseConnection, count: u32) -> Result<(), DbErr> {
    let transaction = begin_upgrade(db).await?;
    Migrator::down(&transaction, Some(count)).await?;
    transaction.commit().await
}

async fn begin_upgrade(db: &DatabaseConnection) -> Result<sea_orm::DatabaseTransaction, DbErr> {
    let is_sqlite = db.get_database_backend() == DbBackend::Sqlite;
    let sqlite_transaction_mode = is_sqlite.then_some(SqliteTransactionMode::Immediate);
    let options = TransactionOptions { sqlite_transaction_mode, ..TransactionOptions::default() };
    let transaction = db.begin_with_options(options).await?;
    if !is_sqlite {
        transaction.execute_unprepared(&format!("SELECT pg_advisory_xact_lock({UPGRADE_LOCK})")).await?;
    }
    Ok(transaction)
}

/// The data that the reversal of a step loses.
pub fn loses(name: &str) -> &'static str {
    LOSSES.iter().find(|(step, _)| *step == name).map_or("unknown data", |(_, loses)| *loses)
}
