//! The expected and the actual run times of kernels, for progressive sequences.

use sea_orm::DbErr;
use sea_orm::sea_query::TableCreateStatement;
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::changes::{add_column, create, drop_column, drop_table};
use super::columns::{boolean, integer, integer_null, primary, table, text, text_null, uuid};

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = "how long kernels were said to run and how long they ran";

/// One row for each owner and day on which kernels of the owner ended.
fn run_times() -> TableCreateStatement {
    table("run_times")
        .col(integer("group_key"))
        // The day on which the kernels ended, in days since 1970.
        .col(integer("day"))
        .col(uuid("user_uuid"))
        .col(uuid("project_id"))
        // Five numbers separated by spaces: the number of kernels that ended; the sum of their run times, in microseconds;
        // the sum of the squares of these; and, for the kernels with a reported expectation, the sums of the expected and of
        // the actual run times, in microseconds.
        .col(text("times"))
        .primary_key(&mut primary(&["group_key", "day", "user_uuid", "project_id"]))
        .to_owned()
}

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        create(db, run_times()).await?;
        // True if `run_times` has all kernels that have ended in the look-back window; otherwise the next run rebuilds it.
        add_column(db, "resource_groups", boolean("run_times_made").default(false).take()).await?;
        // The expected run time in seconds from the kernel's start; NULL: not reported.
        add_column(db, "kernels", integer_null("expected_seconds")).await?;
        // The sums of `run_times` over the look-back window; NULL: no kernel has ended in it.
        add_column(db, "user_fair_shares", text_null("run_times")).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        drop_column(db, "user_fair_shares", "run_times").await?;
        drop_column(db, "kernels", "expected_seconds").await?;
        drop_column(db, "resource_groups", "run_times_made").await?;
        drop_table(db, "run_times").await
    }
}
