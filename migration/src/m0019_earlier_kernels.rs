//! Kernels that ended long before they were reported: where they count, and how long a purge waits for an import.

use sea_orm::sea_query::TableCreateStatement;
use sea_orm::{ConnectionTrait, DbBackend, DbErr};
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::changes::{add_column, create, drop_column, drop_table};
use super::columns::{big_integer, big_integer_null, integer, primary, table, uuid};

pub struct Migration;

/// The knowledge that a reversal of this migration loses.
pub const LOSES: &str = "which kernels count in the history of earlier kernels: reported again, they would count twice";

/// One row for each kernel that ended long before it was reported, so that a second report of it adds nothing, also when the kernel
/// is removed.
fn earlier_kernels(backend: DbBackend) -> TableCreateStatement {
    let mut kernels = table("earlier_kernels");
    kernels
        .col(integer("group_key"))
        .col(uuid("kernel_id"))
        // The row of `usage_histories` whose day totals have what the kernel used; 0: what runs recorded.
        .col(integer("source"))
        // The instant until which that is so.
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
        // No row of `earlier_kernels` is counted until a later instant. NULL: the group has none.
        add_column(db, "resource_groups", big_integer_null("earlier_until")).await?;
        // When reports last brought new kernels that ended before every look-back. NULL: none ever did.
        add_column(db, "resource_groups", big_integer_null("backfilled_at")).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        drop_column(db, "resource_groups", "backfilled_at").await?;
        drop_column(db, "resource_groups", "earlier_until").await?;
        drop_table(db, "earlier_kernels").await
    }
}
