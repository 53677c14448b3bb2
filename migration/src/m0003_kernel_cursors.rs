//! Cursors in a table of their own: one narrow row for each kernel that runs still have to record.
//!
//! A kernel that a run has seen is in step with its group's `recorded_until`, so that a run writes one row instead of
//! one for every running kernel, and one that has ended costs a delete instead of a new version of the wide row.

use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{big_integer_null, boolean, string_len, uuid};
use sea_orm_migration::sea_orm::DbBackend;

pub struct Migration;

/// What its reversal loses.
pub const LOSES: &str = "nothing; how far usage is recorded goes back to the kernels";

impl MigrationName for Migration {
    fn name(&self) -> &'static str {
        "m0003_kernel_cursors"
    }
}

const UP: [&str; 4] = [
    "INSERT INTO kernel_cursors (resource_group, kernel_id, recorded_until, in_step) \
     SELECT resource_group, kernel_id, last_usage_recorded_at, FALSE FROM kernels WHERE NOT settled",
    "DROP INDEX ix_kernels_unsettled",
    "ALTER TABLE kernels DROP COLUMN settled",
    "ALTER TABLE kernels DROP COLUMN last_usage_recorded_at",
];

const DOWN: [&str; 6] = [
    "ALTER TABLE kernels ADD COLUMN last_usage_recorded_at BIGINT",
    "ALTER TABLE kernels ADD COLUMN settled BOOLEAN NOT NULL DEFAULT TRUE",
    "UPDATE kernels SET last_usage_recorded_at = terminated_at WHERE started_at IS NOT NULL",
    "UPDATE kernels SET settled = FALSE, last_usage_recorded_at = (\
     SELECT CASE WHEN c.in_step THEN g.recorded_until ELSE c.recorded_until END \
     FROM kernel_cursors c JOIN resource_groups g ON g.name = c.resource_group \
     WHERE c.resource_group = kernels.resource_group AND c.kernel_id = kernels.kernel_id) \
     WHERE EXISTS (SELECT 1 FROM kernel_cursors c \
     WHERE c.resource_group = kernels.resource_group AND c.kernel_id = kernels.kernel_id)",
    "CREATE INDEX ix_kernels_unsettled ON kernels (resource_group, kernel_id) WHERE NOT settled",
    "DROP TABLE kernel_cursors",
];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let recorded_until = || big_integer_null("recorded_until");
        let add = Table::alter().table("resource_groups").add_column(recorded_until()).to_owned();
        manager.alter_table(add).await?;
        let cursors = Table::create()
            .table("kernel_cursors")
            .col(string_len("resource_group", 64))
            .col(uuid("kernel_id"))
            .col(recorded_until())
            .col(boolean("in_step"))
            .primary_key(Index::create().col("resource_group").col("kernel_id").primary())
            .to_owned();
        manager.create_table(cursors).await?;
        run(manager, &UP).await?;
        if manager.get_database_backend() == DbBackend::Postgres {
            run(manager, &["ALTER TABLE kernels RESET (fillfactor)"]).await?;
        }
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        run(manager, &DOWN).await?;
        if manager.get_database_backend() == DbBackend::Postgres {
            run(manager, &["ALTER TABLE kernels SET (fillfactor = 45)"]).await?;
        }
        let drop = Table::alter().table("resource_groups").drop_column("recorded_until").to_owned();
        manager.alter_table(drop).await
    }
}

async fn run(manager: &SchemaManager<'_>, statements: &[&str]) -> Result<(), DbErr> {
    for sql in statements {
        manager.get_connection().execute_unprepared(sql).await?;
    }
    Ok(())
}
