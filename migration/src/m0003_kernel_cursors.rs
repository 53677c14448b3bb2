//! Cursors in a table of their own: one narrow row for each kernel that runs still have to record.
//!
//! A kernel that a run has recorded is in step: its cursor is the `recorded_until` of its group. So a run writes one row in
//! place of one for every running kernel, and the end of a kernel costs a delete in place of a new version of the wide row.

use sea_orm::DbErr;
use sea_orm::sea_query::TableCreateStatement;
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::changes::{add_column, create, drop_column, run, run_on_postgres};
use super::columns::{big_integer_null, boolean, name, primary, table, uuid};

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = "nothing; how far usage is recorded goes back to the kernels";

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

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        // The time until which the usage of every kernel in step is recorded; NULL: there was no run yet.
        add_column(db, "resource_groups", big_integer_null("recorded_until")).await?;
        create(db, kernel_cursors()).await?;
        run(db, &UP).await?;
        run_on_postgres(db, &["ALTER TABLE kernels RESET (fillfactor)"]).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        run(db, &DOWN).await?;
        run_on_postgres(db, &["ALTER TABLE kernels SET (fillfactor = 45)"]).await?;
        drop_column(db, "resource_groups", "recorded_until").await
    }
}

/// One row for each kernel whose usage is not recorded to its end.
fn kernel_cursors() -> TableCreateStatement {
    table("kernel_cursors")
        .col(name("resource_group"))
        .col(uuid("kernel_id"))
        // The time until which its usage is recorded, unless it is in step; NULL: none is recorded.
        .col(big_integer_null("recorded_until"))
        // True if the `recorded_until` of its group applies to it in place of its own.
        .col(boolean("in_step"))
        .primary_key(&mut primary(&["resource_group", "kernel_id"]))
        .to_owned()
}
