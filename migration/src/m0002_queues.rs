use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{
    big_integer, big_integer_null, boolean, integer, string_len, string_len_null, text, text_null,
};

const NAME: u32 = 64;

pub struct Migration;

/// What its reversal loses.
pub const LOSES: &str = "all queues and the history of their division";

impl MigrationName for Migration {
    fn name(&self) -> &'static str {
        "m0002_queues"
    }
}

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager
            .alter_table(
                Table::alter()
                    .table("resource_groups")
                    // Bumped when the queues change; readers reload what is behind.
                    .add_column(big_integer("queues_revision").default(0))
                    .to_owned(),
            )
            .await?;
        manager.create_table(queues()).await?;
        manager.create_table(division_days()).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        for table in ["division_days", "queues"] {
            manager.drop_table(Table::drop().table(table).to_owned()).await?;
        }
        manager.alter_table(Table::alter().table("resource_groups").drop_column("queues_revision").to_owned()).await
    }
}

/// Queues as they are configured; what they hold and ask for follows from the kernels.
fn queues() -> TableCreateStatement {
    Table::create()
        .table("queues")
        .col(string_len("resource_group", NAME))
        .col(string_len("name", NAME))
        .col(string_len_null("parent", NAME))
        .col(integer("priority"))
        .col(text("weight"))
        .col(string_len("mode", 16))
        .col(text("quota"))
        .col(text("limits"))
        .col(text("guarantee"))
        .col(text("over_quota_weight"))
        .col(string_len("children_over_quota_by", 16))
        .col(text("min_share_ratio"))
        .col(boolean("reclaimable"))
        .col(big_integer_null("preempt_min_runtime"))
        .col(big_integer_null("reclaim_min_runtime"))
        .col(big_integer("created_at"))
        .col(big_integer("updated_at"))
        .primary_key(Index::create().col("resource_group").col("name").primary())
        .to_owned()
}

/// The last division of each day.
fn division_days() -> TableCreateStatement {
    Table::create()
        .table("division_days")
        .col(string_len("resource_group", NAME))
        .col(integer("day"))
        .col(string_len("queue", NAME))
        .col(string_len("algorithm", 32))
        .col(text("fair_share"))
        .col(text("allocated"))
        .col(text("request"))
        .col(text("quota"))
        // Only `min_share` has these.
        .col(text_null("usage_ratio"))
        .col(text_null("demand_ratio"))
        .col(text_null("fair_share_ratio"))
        .col(text_null("guaranteed_ratio"))
        .col(big_integer("calculated_at"))
        .primary_key(Index::create().col("resource_group").col("day").col("queue").primary())
        .to_owned()
}
