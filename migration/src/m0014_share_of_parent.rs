//! What each day left of an entity's part of what its parent has.

use sea_orm::DbErr;
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::changes::{add_column, drop_column};
use super::columns::double_null;

pub struct Migration;

/// What its reversal loses.
pub const LOSES: &str = "which part of what its parent has each entity was entitled to on past days";

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        // A part of what the parent has, 0 to 1; NULL: an earlier version wrote the day.
        add_column(db, "share_days", double_null("entitled_share_of_parent")).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        drop_column(db, "share_days", "entitled_share_of_parent").await
    }
}
