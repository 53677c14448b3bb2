//! Free space beside the day totals that every run rewrites.

use sea_orm::DbErr;
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::changes::run_on_postgres;

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = "nothing";

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        // Every run rewrites the rows of the current day in place. With free space on their page, no index entry changes, as
        // for buckets.
        run_on_postgres(db, &["ALTER TABLE day_totals SET (fillfactor = 45)"]).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        run_on_postgres(db, &["ALTER TABLE day_totals RESET (fillfactor)"]).await
    }
}
