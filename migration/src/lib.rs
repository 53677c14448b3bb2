//! The schema, one file for each step, up and down on `SQLite` and `PostgreSQL`.
//!
//! Instants are microseconds since 1970 and days are days since 1970, both as integers; exact
//! amounts are decimal texts (slot maps are JSON objects of them), because a decimal column of
//! `SQLite` is a float.

#![allow(clippy::disallowed_methods, reason = "SQL lives here too")]

pub use sea_orm_migration::prelude::{MigrationTrait, MigratorTrait};
use sea_orm_migration::sea_orm::{ConnectionTrait, DbErr};

mod m0001_initial;
mod m0002_queues;
mod m0003_kernel_cursors;
mod m0004_bucket_order;
mod m0006_kernels;
mod m0007_operations;

pub struct Migrator;

impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![
            Box::new(m0001_initial::Migration),
            Box::new(m0002_queues::Migration),
            Box::new(m0003_kernel_cursors::Migration),
            Box::new(m0004_bucket_order::Migration),
            Box::new(m0006_kernels::Migration),
            Box::new(m0007_operations::Migration),
        ]
    }
}

/// Names of the migrations that are applied, and of those that are pending.
pub async fn status(db: &impl ConnectionTrait) -> Result<(Vec<String>, Vec<String>), DbErr> {
    let names = |list: Vec<sea_orm_migration::Migration>| list.iter().map(|m| m.name().to_owned()).collect();
    let applied = names(Migrator::get_applied_migrations(db).await?);
    Ok((applied, names(Migrator::get_pending_migrations(db).await?)))
}
