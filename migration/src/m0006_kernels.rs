//! What is delivered is counted in the audit log by key, group and minute; kernels are suspended and go on.

use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{big_integer_null, boolean, text_null};

pub struct Migration;

/// What its reversal loses.
pub const LOSES: &str = "nothing; counts of delivered kernels become plain entries of the audit log";

impl MigrationName for Migration {
    fn name(&self) -> &'static str {
        "m0006_kernels"
    }
}

const USER_INDEX: &str = "ix_kernels_user";
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
        let kernels = [
            // When the kernel was suspended (`-`) and went on (`+`), in microseconds since 1970, by time; NULL: never.
            text_null("status_changes"),
            // Whether nobody reported `terminated_at`: a snapshot or a time-out set it.
            boolean("end_inferred").default(false).take(),
        ];
        for column in kernels {
            manager.alter_table(Table::alter().table("kernels").add_column(column).to_owned()).await?;
        }
        // The changes of status that the kernel's records were made by, where they have to be made again by those in
        // `kernels`; NULL: they follow from those.
        let applied = Table::alter().table("kernel_cursors").add_column(text_null("applied_changes")).to_owned();
        manager.alter_table(applied).await?;
        // When the kernel was last reported, in microseconds since 1970 and to a few minutes; NULL: it is not known.
        let seen = Table::alter().table("kernel_cursors").add_column(big_integer_null("seen_at")).to_owned();
        manager.alter_table(seen).await?;
        let groups = [
            // When the last snapshot of all that runs was taken, in microseconds since 1970; NULL: there was none.
            big_integer_null("snapshot_at"),
            // When reports last came in, in microseconds since 1970 and to a few minutes; NULL: they never did.
            big_integer_null("reported_at"),
        ];
        for column in groups {
            manager.alter_table(Table::alter().table("resource_groups").add_column(column).to_owned()).await?;
        }
        // Kernels of earlier versions count as reported until the last run.
        let until_now = "UPDATE kernel_cursors SET seen_at = (SELECT g.recorded_until FROM resource_groups g \
                         WHERE g.name = kernel_cursors.resource_group)";
        manager.get_connection().execute_unprepared(until_now).await?;
        // The kernels of a user, to find their records by.
        let of_user = Index::create()
            .name(USER_INDEX)
            .table("kernels")
            .col("resource_group")
            .col("user_uuid")
            .col("kernel_id")
            .to_owned();
        manager.create_index(of_user).await?;
        let tally = Index::create().name(TALLY_INDEX).table("audit_log").col("tally_of").unique().to_owned();
        manager.create_index(tally).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.drop_index(Index::drop().name(USER_INDEX).table("kernels").to_owned()).await?;
        for column in ["reported_at", "snapshot_at"] {
            manager.alter_table(Table::alter().table("resource_groups").drop_column(column).to_owned()).await?;
        }
        for column in ["seen_at", "applied_changes"] {
            manager.alter_table(Table::alter().table("kernel_cursors").drop_column(column).to_owned()).await?;
        }
        for column in ["end_inferred", "status_changes"] {
            manager.alter_table(Table::alter().table("kernels").drop_column(column).to_owned()).await?;
        }
        let running = "UPDATE kernels SET status = 'RUNNING' WHERE status = 'SUSPENDED'";
        manager.get_connection().execute_unprepared(running).await?;
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
