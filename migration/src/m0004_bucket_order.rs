//! Indexes in the order of bucket lists, so that the database reads a page directly from its position.

use sea_orm::{ConnectionTrait, DbErr};
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager, SchemaManagerConnection};

use super::changes::drop_index;
use super::columns::index;

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = "nothing";

/// Index, table, and the columns that distinguish buckets of one day.
const INDEXES: [(&str, &str, &[&str]); 3] = [
    ("ix_domain_usage_bucket_period", "domain_usage_buckets", &["domain_name"]),
    ("ix_project_usage_bucket_period", "project_usage_buckets", &["project_id"]),
    ("ix_user_usage_bucket_period", "user_usage_buckets", &["user_uuid", "project_id"]),
];

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        for (name, table, keys) in INDEXES {
            replace(db, name, table, keys).await?;
        }
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        for (name, table, _) in INDEXES {
            replace(db, name, table, &[]).await?;
        }
        Ok(())
    }
}

async fn replace(
    db: &SchemaManagerConnection<'_>,
    name: &'static str,
    table: &'static str,
    keys: &[&'static str],
) -> Result<(), DbErr> {
    drop_index(db, table, name).await?;
    let columns = [&["resource_group", "period_start"], keys].concat();
    db.execute(index(&columns).name(name).table(table)).await.map(|_| ())
}
