//! Counts of deliveries in the audit log by key, group and minute; suspension of kernels.

use sea_orm::sea_query::ColumnDef;
use sea_orm::{ConnectionTrait, DbErr};
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::changes::{add_column, drop_column, drop_index, run};
use super::columns::{big_integer_null, boolean, index, text_null};

pub struct Migration;

/// The data that its reversal loses.
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
        // An index of the kernels of a user, by which their records are found.
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
        // The counted action, the group, the minute since 1970 and the key; NULL: an entry about one change, which counts
        // nothing.
        ("audit_log", text_null("tally_of")),
        // The number of accepted rows; NULL: the entry counts nothing.
        ("audit_log", big_integer_null("accepted")),
        // The number of refused rows; NULL: the entry counts nothing.
        ("audit_log", big_integer_null("rejected")),
        // The times at which the kernel was suspended (`-`) and resumed (`+`), in microseconds since 1970, by time; NULL:
        // never.
        ("kernels", text_null("status_changes")),
        // True if `terminated_at` was not reported: a snapshot or a time-out set it.
        ("kernels", boolean("end_inferred").default(false).take()),
        // The changes of status from which the kernel's records were made, if they have to be made again from those in
        // `kernels`; NULL: they were made from those.
        ("kernel_cursors", text_null("applied_changes")),
        // The time of the kernel's last report, in microseconds since 1970 and to a few minutes; NULL: unknown.
        ("kernel_cursors", big_integer_null("seen_at")),
        // The time of the last snapshot of all running kernels, in microseconds since 1970; NULL: there was none.
        ("resource_groups", big_integer_null("snapshot_at")),
        // The time of the last reports, in microseconds since 1970 and to a few minutes; NULL: there were none.
        ("resource_groups", big_integer_null("reported_at")),
    ]
}
