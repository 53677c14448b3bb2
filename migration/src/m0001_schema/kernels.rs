//! Kernels, the progress of their recording, and their run times.

use sea_orm::DbBackend;
use sea_orm::sea_query::TableCreateStatement;

use super::Subject;
use crate::columns::{
    big_integer, big_integer_null, boolean, in_its_key, integer, integer_null, name, name_null, primary, row_key,
    string_len, table, text, text_null, uuid,
};

pub fn subject(backend: DbBackend) -> Subject {
    // The records of a user are found by the user's kernels. SQLite adds the key of the row to each entry by itself.
    let of_users = match backend {
        DbBackend::Sqlite => "CREATE INDEX ix_kernels_user ON kernels (group_key, user_uuid)",
        _ => "CREATE INDEX ix_kernels_user ON kernels (group_key, user_uuid, kernel_key)",
    };
    Subject {
        tables: vec![kernels(backend), kernel_cursors(backend), run_times(), earlier_kernels(backend)],
        additions: vec![
            "CREATE UNIQUE INDEX ux_kernels_id ON kernels (kernel_id)",
            of_users,
            // Partial, because few kernels belong to a gang.
            "CREATE INDEX ix_kernels_gang ON kernels (group_key, gang_id) WHERE gang_id IS NOT NULL",
        ],
    }
}

/// Kernels as they were last reported.
fn kernels(backend: DbBackend) -> TableCreateStatement {
    table("kernels")
        // The key of its group times 2^40, plus its number in the group. Later kernels have larger numbers.
        .col(row_key("kernel_key", backend))
        .col(integer("group_key"))
        // The id that schedulers give it.
        .col(uuid("kernel_id"))
        .col(uuid("session_id"))
        .col(uuid("user_uuid"))
        .col(uuid("project_id"))
        // The domain that the report named. Usage that is recorded from now on belongs to the project's domain.
        .col(name("domain_name"))
        // The charge class that usage is recorded with from now on, such as a QOS; empty: none was reported.
        .col(name("charge_class").default(""))
        // The slots that the kernel holds while it runs: a slot map of amounts.
        .col(text("occupied_slots"))
        // `PENDING`, `RUNNING`, `SUSPENDED` or `TERMINATED`.
        .col(string_len("status", 16))
        // The submission; NULL: not known.
        .col(big_integer_null("submitted_at"))
        // The time of the first report; NULL: not known.
        .col(big_integer_null("reported_at"))
        // NULL: it has not started.
        .col(big_integer_null("started_at"))
        // NULL: it has not ended.
        .col(big_integer_null("terminated_at"))
        // True if `terminated_at` was not reported: a snapshot or a time-out set it.
        .col(boolean("end_inferred").default(false))
        // The times at which the kernel was suspended (`-`) and resumed (`+`), in microseconds since 1970, by time; NULL:
        // never.
        .col(text_null("status_changes"))
        // The expected run time in seconds from the kernel's start; NULL: not reported.
        .col(integer_null("expected_seconds"))
        // A JSON object with the keys `labels`, `tolerations` and `affinity`, each only where the kernel has some; NULL: none.
        .col(text_null("placement_rules"))
        // The node that it runs on; NULL: it was not reported.
        .col(name_null("agent_id"))
        // The queue that it names; NULL: the queue of its project, else of its domain, else `default`.
        .col(name_null("queue"))
        // A larger number comes first.
        .col(integer("priority"))
        // True if a plan may evict it.
        .col(boolean("preemptible"))
        // True if no plan may evict it.
        .col(boolean("critical"))
        // The gang that it belongs to; NULL: the kernels of one session are one workload.
        .col(name_null("gang_id"))
        // The number of members of the gang that must run together; NULL: all of them.
        .col(integer_null("gang_min"))
        .to_owned()
}

/// One narrow row for each kernel whose usage is not recorded to its end. A run moves the cursor of its group, and writes rows
/// only of kernels that are not on it, so that it does not write one for every running kernel.
fn kernel_cursors(backend: DbBackend) -> TableCreateStatement {
    table("kernel_cursors")
        .col(row_key("kernel_key", backend))
        // True if the `recorded_until` of its group applies to it in place of its own.
        .col(boolean("in_step"))
        // The time until which its usage is recorded, unless the group's applies; NULL: none is recorded.
        .col(big_integer_null("recorded_until"))
        // The changes of status from which the kernel's records were made, if they have to be made again from those in
        // `kernels`; NULL: they were made from those.
        .col(text_null("applied_changes"))
        // The time of the kernel's last report, to a few minutes; NULL: unknown.
        .col(big_integer_null("seen_at"))
        .to_owned()
}

/// The run times of kernels, from which progressive sequences expect those of others: one row for each owner and day on which
/// kernels of the owner ended.
fn run_times() -> TableCreateStatement {
    table("run_times")
        .col(integer("group_key"))
        // The day on which the kernels ended.
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

/// One row for each kernel that ended long before it was reported, so that a second report of it adds nothing, even after
/// the kernel was removed.
fn earlier_kernels(backend: DbBackend) -> TableCreateStatement {
    let kernels = table("earlier_kernels")
        .col(integer("group_key"))
        .col(uuid("kernel_id"))
        // The row of `usage_histories` whose day totals contain the kernel's usage; 0: the totals of runs.
        .col(integer("source"))
        // The time until which they contain it.
        .col(big_integer("counted_until"))
        .primary_key(&mut primary(&["group_key", "kernel_id"]))
        .to_owned();
    in_its_key(kernels, backend)
}
