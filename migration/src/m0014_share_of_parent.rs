//! The entitled part of the parent's share, for each owner and day.

use sea_orm::DbErr;
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::changes::{add_column, drop_column};
use super::columns::double_null;

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = "which part of what its parent has each entity was entitled to on past days";

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        // A part of the parent's share, 0 to 1; NULL: an earlier version wrote the row.
        add_column(db, "share_days", double_null("entitled_share_of_parent")).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        drop_column(db, "share_days", "entitled_share_of_parent").await
    }
}
