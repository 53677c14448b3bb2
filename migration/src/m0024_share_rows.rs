//! Fair shares of users have a row each again, because pages of packed shares could not be read with SQL.
//!
//! All servers have to stop for this step, because it replaces a table that the version before writes.

use sea_orm::DbErr;
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::m0016_share_pages;

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = m0016_share_pages::LOSES;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        m0016_share_pages::Migration.down(manager).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        m0016_share_pages::Migration.up(manager).await
    }
}
