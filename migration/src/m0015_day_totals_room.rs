//! Room for the day totals that every run rewrites.

use sea_orm::prelude::async_trait::async_trait;
use sea_orm::{DatabaseTransaction, DbErr};

use super::Change;
use super::changes::run_on_postgres;

pub struct Migration;

/// What its reversal loses.
pub const LOSES: &str = "nothing";

#[async_trait]
impl Change for Migration {
    async fn up(&self, db: &DatabaseTransaction) -> Result<(), DbErr> {
        // Every run rewrites the rows of the open day in place; room on their page spares their index entries, as for buckets.
        run_on_postgres(db, &["ALTER TABLE day_totals SET (fillfactor = 45)"]).await
    }

    async fn down(&self, db: &DatabaseTransaction) -> Result<(), DbErr> {
        run_on_postgres(db, &["ALTER TABLE day_totals RESET (fillfactor)"]).await
    }
}
