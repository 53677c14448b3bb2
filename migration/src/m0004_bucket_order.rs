//! Indexes in the order of bucket lists, so that a page is read from its place on.

use sea_orm_migration::prelude::*;

pub struct Migration;

/// What its reversal loses.
pub const LOSES: &str = "nothing";

impl MigrationName for Migration {
    fn name(&self) -> &'static str {
        "m0004_bucket_order"
    }
}

/// Index, table, and what tells apart buckets of one day.
const INDEXES: [(&str, &str, &[&str]); 3] = [
    ("ix_domain_usage_bucket_period", "domain_usage_buckets", &["domain_name"]),
    ("ix_project_usage_bucket_period", "project_usage_buckets", &["project_id"]),
    ("ix_user_usage_bucket_period", "user_usage_buckets", &["user_uuid", "project_id"]),
];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        for (name, table, keys) in INDEXES {
            replace(manager, name, table, keys).await?;
        }
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        for (name, table, _) in INDEXES {
            replace(manager, name, table, &[]).await?;
        }
        Ok(())
    }
}

async fn replace(
    manager: &SchemaManager<'_>,
    name: &'static str,
    table: &'static str,
    keys: &'static [&'static str],
) -> Result<(), DbErr> {
    manager.drop_index(Index::drop().name(name).table(table).to_owned()).await?;
    let mut create = Index::create();
    create.name(name).table(table).col("resource_group").col("period_start");
    for key in keys {
        create.col(*key);
    }
    manager.create_index(create).await
}
