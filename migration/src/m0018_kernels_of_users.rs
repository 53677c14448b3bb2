//! `SQLite` adds the key of its row to each entry of an index, and that is the key of the kernel: the index of the kernels of a
//! user had it twice.

use sea_orm::prelude::async_trait::async_trait;
use sea_orm::{ConnectionTrait, DatabaseTransaction, DbBackend, DbErr};

use super::Change;
use super::changes::{drop_index, run};

pub struct Migration;

/// What its reversal loses.
pub const LOSES: &str = "nothing";

#[async_trait]
impl Change for Migration {
    async fn up(&self, db: &DatabaseTransaction) -> Result<(), DbErr> {
        make_anew(db, "CREATE INDEX ix_kernels_user ON kernels (group_key, user_uuid)").await
    }

    async fn down(&self, db: &DatabaseTransaction) -> Result<(), DbErr> {
        make_anew(db, "CREATE INDEX ix_kernels_user ON kernels (group_key, user_uuid, kernel_key)").await
    }
}

/// `PostgreSQL` keeps its index.
async fn make_anew(db: &DatabaseTransaction, index: &str) -> Result<(), DbErr> {
    if db.get_database_backend() == DbBackend::Postgres {
        return Ok(());
    }
    drop_index(db, "kernels", "ix_kernels_user").await?;
    run(db, &[index]).await
}
