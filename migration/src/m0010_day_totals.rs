//! The usage of each day, for reports by day, week and month, because buckets may hold several days.

use sea_orm::sea_query::TableCreateStatement;
use sea_orm::{ConnectionTrait, DbBackend, DbErr};
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::changes::{add_column, create, drop_column, drop_table};
use super::columns::{big_integer, boolean, index, integer, name, primary, table, text, uuid};

pub struct Migration;

/// The data that its reversal loses.
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
        // 0: recorded by runs; otherwise the `source` of a row in `usage_histories`.
        .col(integer("source"))
        // A slot map of usages.
        .col(text("resource_usage"))
        // The number of slices in the sum; in a history, the number of jobs.
        .col(big_integer("records"))
        .primary_key(&mut primary(&["group_key", "day", "user_uuid", "project_id", "domain_name", "source"]));
    if backend == DbBackend::Sqlite {
        totals.extra("WITHOUT ROWID");
    }
    totals
}

/// Imported usage of earlier times, each under the name of its origin.
fn usage_histories() -> TableCreateStatement {
    table("usage_histories")
        .col(integer("group_key"))
        // A number in the group, from 1 on.
        .col(integer("source"))
        .col(name("name"))
        // True once all its rows are stored; before that none of them counts.
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
        // True if `day_totals` has all recorded usage; otherwise the next run completes it.
        add_column(db, "resource_groups", boolean("day_totals_made").default(false).take()).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        drop_column(db, "resource_groups", "day_totals_made").await?;
        drop_table(db, "usage_histories").await?;
        drop_table(db, "day_totals").await
    }
}
