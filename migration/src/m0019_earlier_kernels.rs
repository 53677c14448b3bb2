//! Kernels that ended long before they were reported: the history in which they count, and the time for which a purge waits
//! after an import.

use sea_orm::sea_query::TableCreateStatement;
use sea_orm::{ConnectionTrait, DbBackend, DbErr};
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::changes::{add_column, create, drop_column, drop_table};
use super::columns::{big_integer, big_integer_null, integer, primary, table, uuid};

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = "which kernels count in the history of earlier kernels: reported again, they would count twice";

/// One row for each kernel that ended long before it was reported, so that a second report of it adds nothing, even after
/// the kernel was removed.
fn earlier_kernels(backend: DbBackend) -> TableCreateStatement {
    let mut kernels = table("earlier_kernels");
    kernels
        .col(integer("group_key"))
        .col(uuid("kernel_id"))
        // The row of `usage_histories` whose day totals contain the kernel's usage; 0: the totals of runs.
        .col(integer("source"))
        // The time until which they contain it.
        .col(big_integer("counted_until"))
        .primary_key(&mut primary(&["group_key", "kernel_id"]));
    if backend == DbBackend::Sqlite {
        kernels.extra("WITHOUT ROWID");
    }
    kernels
}

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        create(db, earlier_kernels(db.get_database_backend())).await?;
        // No row of `earlier_kernels` has a later `counted_until`. NULL: the group has none.
        add_column(db, "resource_groups", big_integer_null("earlier_until")).await?;
        // The time of the last reports of new kernels that ended before every look-back. NULL: there were none.
        add_column(db, "resource_groups", big_integer_null("backfilled_at")).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        drop_column(db, "resource_groups", "backfilled_at").await?;
        drop_column(db, "resource_groups", "earlier_until").await?;
        drop_table(db, "earlier_kernels").await
    }
}
