//! The schema, one file for each step, up and down on `SQLite` and `PostgreSQL`.
//!
//! Instants are microseconds since 1970 and days are days since 1970, both as integers; exact
//! amounts are decimal texts (slot maps are JSON objects of them), because a decimal column of
//! `SQLite` is a float.

#![allow(clippy::disallowed_methods, reason = "SQL lives here too")]

use sea_orm_migration::prelude::{MigrationName, SchemaManager, async_trait};
pub use sea_orm_migration::prelude::{MigrationTrait, MigratorTrait};
use sea_orm_migration::sea_orm::{ConnectionTrait, DbErr, EntityTrait};
use sea_orm_migration::{Migration, MigrationStatus, seaql_migrations};

mod m0001_initial;
mod m0002_queues;
mod m0003_kernel_cursors;
mod m0004_bucket_order;
mod m0005_people;
mod m0006_kernels;
mod m0007_operations;

pub struct Migrator;

/// Every migration, and what its reversal loses.
fn all() -> Vec<(Box<dyn MigrationTrait>, &'static str)> {
    macro_rules! list {
        ($($module:ident)*) => { vec![$((Box::new($module::Migration), $module::LOSES)),*] };
    }
    list!(m0001_initial m0002_queues m0003_kernel_cursors m0004_bucket_order m0005_people m0006_kernels m0007_operations)
}

impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        all().into_iter().map(|(step, _)| Box::new(Whole(step)) as Box<dyn MigrationTrait>).collect()
    }
}

/// A step that is done whole or not at all, on `SQLite` too: what broke off half-way could not be done again.
struct Whole(Box<dyn MigrationTrait>);

impl MigrationName for Whole {
    fn name(&self) -> &str {
        self.0.name()
    }
}

#[async_trait::async_trait]
impl MigrationTrait for Whole {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        self.0.up(manager).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        self.0.down(manager).await
    }

    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }
}

/// What the reversal of a migration loses.
pub fn loses(name: &str) -> &'static str {
    all().into_iter().find(|(migration, _)| migration.name() == name).map_or("unknown data", |(_, loses)| loses)
}

/// The names of the migrations, in their order.
#[derive(Debug, Default)]
pub struct Schema {
    pub applied: Vec<String>,
    pub pending: Vec<String>,
    /// Applied by a newer version.
    pub unknown: Vec<String>,
}

/// What the database has of the schema. Changes nothing.
pub async fn schema(db: &impl ConnectionTrait) -> Result<Schema, DbErr> {
    let found = match Migrator::get_migration_with_status_read_only(db).await {
        // It refuses what this version does not know.
        Err(DbErr::Custom(_)) => return Ok(Schema { unknown: unknown(db).await?, ..Schema::default() }),
        found => found?,
    };
    let (applied, pending): (Vec<_>, Vec<_>) =
        found.iter().partition(|migration| migration.status() == MigrationStatus::Applied);
    let names = |list: Vec<&Migration>| list.into_iter().map(|migration| migration.name().to_owned()).collect();
    Ok(Schema { applied: names(applied), pending: names(pending), unknown: Vec::new() })
}

async fn unknown(db: &impl ConnectionTrait) -> Result<Vec<String>, DbErr> {
    let known = Migrator::migrations();
    let stored = seaql_migrations::Entity::find().all(db).await?.into_iter().map(|row| row.version);
    Ok(stored.filter(|name| known.iter().all(|migration| migration.name() != name)).collect())
}
