//! What is delivered is counted in the audit log by key, group and minute.

use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{big_integer_null, text_null};

pub struct Migration;

/// What its reversal loses.
pub const LOSES: &str = "nothing; counts of delivered kernels become plain entries of the audit log";

impl MigrationName for Migration {
    fn name(&self) -> &'static str {
        "m0006_kernels"
    }
}

const TALLY_INDEX: &str = "ux_audit_log_tally";

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let columns = [
            // What is counted, in which group, in which minute since 1970, and for which key; NULL: an entry of one
            // change, which counts nothing.
            text_null("tally_of"),
            // Rows that were taken; NULL: the entry counts nothing.
            big_integer_null("accepted"),
            // Rows that were refused; NULL: the entry counts nothing.
            big_integer_null("rejected"),
        ];
        for column in columns {
            manager.alter_table(Table::alter().table("audit_log").add_column(column).to_owned()).await?;
        }
        let tally = Index::create().name(TALLY_INDEX).table("audit_log").col("tally_of").unique().to_owned();
        manager.create_index(tally).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let keep_counts = "UPDATE audit_log SET after = '{\"accepted\":' || accepted || ',\"rejected\":' || rejected \
                           || '}' WHERE tally_of IS NOT NULL";
        manager.get_connection().execute_unprepared(keep_counts).await?;
        manager.drop_index(Index::drop().name(TALLY_INDEX).table("audit_log").to_owned()).await?;
        for column in ["rejected", "accepted", "tally_of"] {
            manager.alter_table(Table::alter().table("audit_log").drop_column(column).to_owned()).await?;
        }
        Ok(())
    }
}
