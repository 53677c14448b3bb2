//! The tables of this step, after it and before it.

use sea_orm::DbBackend;
use sea_orm::sea_query::{ColumnDef, TableCreateStatement};

use crate::columns::{
    big_integer, big_integer_null, boolean, integer, integer_null, name, name_null, primary, string_len, table, text,
    text_null, uuid,
};

/// A kernel's key is the key of its group times this, plus its number in the group.
pub const KERNELS_OF_A_GROUP: i64 = 1 << 40;

/// A whole number that is the key of its table. With the type `integer`, `SQLite` finds rows by it without an index.
fn key(column: &'static str, backend: DbBackend) -> ColumnDef {
    let mut key = if backend == DbBackend::Sqlite { integer(column) } else { big_integer(column) };
    key.primary_key().take()
}

/// Kernels as they were last reported.
pub fn kernels(backend: DbBackend) -> TableCreateStatement {
    let mut kernels = table("kernels");
    // The key of its group times 2^40, plus its number in the group. Later kernels have larger numbers.
    kernels.col(key("kernel_key", backend)).col(integer("group_key"));
    described(kernels)
}

/// The cursors of kernels that are not recorded to their ends.
pub fn kernel_cursors(backend: DbBackend) -> TableCreateStatement {
    let mut cursors = table("kernel_cursors");
    cursors.col(key("kernel_key", backend));
    cursor(cursors)
}

/// The values that many records of a group share.
pub fn slice_kinds(backend: DbBackend) -> TableCreateStatement {
    let mut kinds = table("slice_kinds");
    kinds
        .col(integer("group_key"))
        // A number in the group.
        .col(integer("kind"))
        // The last day with a record of this kind. It may be purged with the records of that day.
        .col(integer("used_on"))
        // The project's domain when the record was made; a project that moves later leaves it as it is.
        .col(name("domain_name"))
        // The slots that the kernel held: a slot map of amounts.
        .col(text("slots"))
        .primary_key(&mut primary(&["group_key", "kind"]));
    if backend == DbBackend::Sqlite {
        kinds.extra("WITHOUT ROWID");
    }
    kinds
}

/// The usage of one kernel in one slice, or in several that touch, have one kind, and were compacted. It lies within one
/// day.
pub fn usage_slices(backend: DbBackend) -> TableCreateStatement {
    let mut slices = table("usage_slices");
    slices
        // The end is not part of the slice.
        .col(big_integer("period_end"))
        .col(big_integer("kernel_key"))
        .col(big_integer("period_start"))
        .col(integer("group_key"))
        .col(integer("kind"))
        // The number of slices that it was made of.
        .col(integer("slices"))
        .primary_key(&mut primary(&["group_key", "period_end", "kernel_key"]))
        .extra(match backend {
            DbBackend::Postgres => "PARTITION BY RANGE (period_end)",
            _ => "WITHOUT ROWID",
        });
    slices
}

pub fn kernels_before() -> TableCreateStatement {
    let mut kernels = table("kernels");
    kernels.col(name("resource_group"));
    let mut kernels = described(kernels);
    kernels.primary_key(&mut primary(&["kernel_id"])).take()
}

pub fn kernel_cursors_before() -> TableCreateStatement {
    let mut cursors = table("kernel_cursors");
    cursors.col(name("resource_group")).col(uuid("kernel_id"));
    let mut cursors = cursor(cursors);
    cursors.primary_key(&mut primary(&["resource_group", "kernel_id"])).take()
}

pub fn kernel_usage_records() -> TableCreateStatement {
    table("kernel_usage_records")
        .col(uuid("kernel_id"))
        .col(big_integer("period_start"))
        .col(big_integer("period_end"))
        .col(uuid("session_id"))
        .col(uuid("user_uuid"))
        .col(uuid("project_id"))
        .col(name("domain_name"))
        .col(name("resource_group"))
        .col(text("resource_usage"))
        .primary_key(&mut primary(&["kernel_id", "period_start"]))
        .to_owned()
}

fn described(mut kernels: TableCreateStatement) -> TableCreateStatement {
    kernels
        // The id that schedulers give it.
        .col(uuid("kernel_id"))
        .col(uuid("session_id"))
        .col(uuid("user_uuid"))
        .col(uuid("project_id"))
        // The domain that the report named. Usage that is recorded from now on belongs to the project's domain.
        .col(name("domain_name"))
        // The slots that the kernel holds while it runs: a slot map of amounts.
        .col(text("occupied_slots"))
        // `PENDING`, `RUNNING`, `SUSPENDED` or `TERMINATED`.
        .col(string_len("status", 16))
        // NULL: it has not started.
        .col(big_integer_null("started_at"))
        // NULL: it has not ended.
        .col(big_integer_null("terminated_at"))
        // The times at which the kernel was suspended (`-`) and resumed (`+`), in microseconds since 1970, by time; NULL:
        // never.
        .col(text_null("status_changes"))
        // True if `terminated_at` was not reported: a snapshot or a time-out set it.
        .col(boolean("end_inferred").default(false))
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
        .take()
}

fn cursor(mut cursors: TableCreateStatement) -> TableCreateStatement {
    cursors
        // The time until which its usage is recorded, unless it is in step; NULL: none is recorded.
        .col(big_integer_null("recorded_until"))
        // True if the `recorded_until` of its group applies to it in place of its own.
        .col(boolean("in_step"))
        // The changes of status from which the kernel's records were made, if they have to be made again from those in
        // `kernels`; NULL: they were made from those.
        .col(text_null("applied_changes"))
        // The time of the kernel's last report, in microseconds since 1970 and to a few minutes; NULL: unknown.
        .col(big_integer_null("seen_at"))
        .take()
}
