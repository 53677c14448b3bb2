//! The index of the kernels of a user loses the kernel's key on `SQLite`. Every index entry contains the key of its row
//! there, which is that of the kernel, so the index contained it twice.

use sea_orm::{ConnectionTrait, DbBackend, DbErr};
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager, SchemaManagerConnection};

use super::changes::{drop_index, run};

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = "nothing";

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        make_anew(db, "CREATE INDEX ix_kernels_user ON kernels (group_key, user_uuid)").await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        make_anew(db, "CREATE INDEX ix_kernels_user ON kernels (group_key, user_uuid, kernel_key)").await
    }
}

/// `PostgreSQL` keeps its index.
async fn make_anew(db: &SchemaManagerConnection<'_>, index: &str) -> Result<(), DbErr> {
    if db.get_database_backend() == DbBackend::Postgres {
        return Ok(());
    }
    drop_index(db, "kernels", "ix_kernels_user").await?;
    run(db, &[index]).await
}
