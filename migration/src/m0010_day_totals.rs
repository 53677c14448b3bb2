//! What was used on each day, for reports by day, week and month: buckets may be of several days.

use sea_orm::sea_query::TableCreateStatement;
use sea_orm::{ConnectionTrait, DbBackend, DbErr};
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::changes::{add_column, create, drop_column, drop_table};
use super::columns::{big_integer, boolean, index, integer, name, primary, table, text, uuid};

pub struct Migration;

/// What its reversal loses.
pub const LOSES: &str = "usage that was imported as history; day totals of what was recorded are made again";

/// One row for each day on which a user used something in a project.
fn day_totals(backend: DbBackend) -> TableCreateStatement {
    let mut totals = table("day_totals");
    totals
        .col(integer("group_key"))
        // Days since 1970.
        .col(integer("day"))
        .col(uuid("user_uuid"))
        .col(uuid("project_id"))
        // The domain that the usage counts for; a project that moves later leaves it as it is.
        .col(name("domain_name"))
        // 0: what runs recorded; else the row of `usage_histories` that it came with.
        .col(integer("source"))
        // A slot map of usages.
        .col(text("resource_usage"))
        // How many slices it sums; of a history, how many jobs.
        .col(big_integer("records"))
        .primary_key(&mut primary(&["group_key", "day", "user_uuid", "project_id", "domain_name", "source"]));
    if backend == DbBackend::Sqlite {
        totals.extra("WITHOUT ROWID");
    }
    totals
}

/// Usage of earlier times that was brought from elsewhere, each under the name of where it came from.
fn usage_histories() -> TableCreateStatement {
    table("usage_histories")
        .col(integer("group_key"))
        // A number in the group, from 1 on.
        .col(integer("source"))
        .col(name("name"))
        // Whether all its rows are there; before that none of them counts.
        .col(boolean("complete"))
        .col(big_integer("created_at"))
        .primary_key(&mut primary(&["group_key", "source"]))
        .to_owned()
}

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        create(db, day_totals(db.get_database_backend())).await?;
        create(db, usage_histories()).await?;
        db.execute(index(&["group_key", "name"]).name("ux_usage_histories_name").table("usage_histories").unique())
            .await?;
        // Whether `day_totals` has all that was recorded; else the next run makes them.
        add_column(db, "resource_groups", boolean("day_totals_made").default(false).take()).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        drop_column(db, "resource_groups", "day_totals_made").await?;
        drop_table(db, "usage_histories").await?;
        drop_table(db, "day_totals").await
    }
}
