//! Room for the day totals that every run rewrites.

use sea_orm::prelude::async_trait::async_trait;
use sea_orm::{ConnectionTrait, DatabaseTransaction, DbBackend, DbErr};

use super::Change;
use super::changes::run;

pub struct Migration;

/// What its reversal loses.
pub const LOSES: &str = "nothing";

#[async_trait]
impl Change for Migration {
    async fn up(&self, db: &DatabaseTransaction) -> Result<(), DbErr> {
        set(db, "SET (fillfactor = 45)").await
    }

    async fn down(&self, db: &DatabaseTransaction) -> Result<(), DbErr> {
        set(db, "RESET (fillfactor)").await
    }
}

/// Every run rewrites the rows of the open day in place; room on their page spares their index entries, as for buckets.
async fn set(db: &DatabaseTransaction, fillfactor: &str) -> Result<(), DbErr> {
    if db.get_database_backend() == DbBackend::Postgres {
        run(db, &[&format!("ALTER TABLE day_totals {fillfactor}")]).await?;
    }
    Ok(())
}
