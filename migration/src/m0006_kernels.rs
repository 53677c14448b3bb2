//! What is delivered is counted in the audit log by key, group and minute; kernels are suspended and go on.

use sea_orm::sea_query::ColumnDef;
use sea_orm::{ConnectionTrait, DbErr};
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::changes::{add_column, drop_column, drop_index, run};
use super::columns::{big_integer_null, boolean, index, text_null};

pub struct Migration;

/// What its reversal loses.
pub const LOSES: &str = "when kernels were suspended: those that are suspended now run again, and use what they hold; which ends were inferred, when kernels were last reported, and when the last snapshot was taken; counts of delivered kernels become plain entries of the audit log";

const USER_INDEX: &str = "ix_kernels_user";
const TALLY_INDEX: &str = "ux_audit_log_tally";

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        for (table, column) in columns() {
            add_column(db, table, column).await?;
        }
        // Kernels of earlier versions count as reported until the last run.
        let until_now = "UPDATE kernel_cursors SET seen_at = (SELECT g.recorded_until FROM resource_groups g \
                         WHERE g.name = kernel_cursors.resource_group)";
        run(db, &[until_now]).await?;
        // The kernels of a user, to find their records by.
        let of_user = ["resource_group", "user_uuid", "kernel_id"];
        db.execute(index(&of_user).name(USER_INDEX).table("kernels")).await?;
        db.execute(index(&["tally_of"]).name(TALLY_INDEX).table("audit_log").unique()).await?;
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        drop_index(db, "kernels", USER_INDEX).await?;
        let running = "UPDATE kernels SET status = 'RUNNING' WHERE status = 'SUSPENDED'";
        let keep_counts = "UPDATE audit_log SET after = '{\"accepted\":' || accepted || ',\"rejected\":' || rejected \
                           || '}' WHERE tally_of IS NOT NULL";
        run(db, &[running, keep_counts]).await?;
        drop_index(db, "audit_log", TALLY_INDEX).await?;
        for (table, column) in columns().into_iter().rev() {
            drop_column(db, table, &column.get_column_name()).await?;
        }
        Ok(())
    }
}

fn columns() -> Vec<(&'static str, ColumnDef)> {
    vec![
        // What is counted, in which group, in which minute since 1970, and for which key; NULL: an entry of one change,
        // which counts nothing.
        ("audit_log", text_null("tally_of")),
        // Rows that were taken; NULL: the entry counts nothing.
        ("audit_log", big_integer_null("accepted")),
        // Rows that were refused; NULL: the entry counts nothing.
        ("audit_log", big_integer_null("rejected")),
        // When the kernel was suspended (`-`) and went on (`+`), in microseconds since 1970, by time; NULL: never.
        ("kernels", text_null("status_changes")),
        // Whether `terminated_at` was not reported: a snapshot or a time-out set it.
        ("kernels", boolean("end_inferred").default(false).take()),
        // The changes of status that the kernel's records were made by, where they have to be made again by those in
        // `kernels`; NULL: they follow from those.
        ("kernel_cursors", text_null("applied_changes")),
        // When the kernel was last reported, in microseconds since 1970 and to a few minutes; NULL: it is not known.
        ("kernel_cursors", big_integer_null("seen_at")),
        // When the last snapshot of all that runs was taken, in microseconds since 1970; NULL: there was none.
        ("resource_groups", big_integer_null("snapshot_at")),
        // When reports last came in, in microseconds since 1970 and to a few minutes; NULL: they never did.
        ("resource_groups", big_integer_null("reported_at")),
    ]
}
