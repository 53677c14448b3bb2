//! The tables of this step, as they are from here on and as they were before.

use sea_orm::DbBackend;
use sea_orm::sea_query::{ColumnDef, TableCreateStatement};

use crate::columns::{
    big_integer, big_integer_null, boolean, integer, integer_null, name, name_null, primary, string_len, table, text,
    text_null, uuid,
};

/// A kernel's key is the key of its group times this, plus its number in the group.
pub const KERNELS_OF_A_GROUP: i64 = 1 << 40;

/// A whole number that is the key of its table. `SQLite` finds rows by it without an index if it is called so.
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

/// How far the records of each kernel have come that is not recorded to its end.
pub fn kernel_cursors(backend: DbBackend) -> TableCreateStatement {
    let mut cursors = table("kernel_cursors");
    cursors.col(key("kernel_key", backend));
    cursor(cursors)
}

/// What many records of a group have in common.
pub fn slice_kinds(backend: DbBackend) -> TableCreateStatement {
    let mut kinds = table("slice_kinds");
    kinds
        .col(integer("group_key"))
        // A number in the group.
        .col(integer("kind"))
        // The last day for which a record was made of it: when it may be purged with the records.
        .col(integer("used_on"))
        // The project's domain when the record was made; a project that moves later leaves it as it is.
        .col(name("domain_name"))
        // What the kernel held: a slot map of amounts.
        .col(text("slots"))
        .primary_key(&mut primary(&["group_key", "kind"]));
    if backend == DbBackend::Sqlite {
        kinds.extra("WITHOUT ROWID");
    }
    kinds
}

/// What one kernel used in one slice, or in several that touch, have one kind, and were put together. It lies in one day.
pub fn usage_slices(backend: DbBackend) -> TableCreateStatement {
    let mut slices = table("usage_slices");
    slices
        // The end is no part of the slice.
        .col(big_integer("period_end"))
        .col(big_integer("kernel_key"))
        .col(big_integer("period_start"))
        .col(integer("group_key"))
        .col(integer("kind"))
        // How many slices it was made of.
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
        // What schedulers call it.
        .col(uuid("kernel_id"))
        .col(uuid("session_id"))
        .col(uuid("user_uuid"))
        .col(uuid("project_id"))
        // The domain that the report named. Usage that is recorded from now on belongs to the project's domain.
        .col(name("domain_name"))
        // What the kernel holds while it runs: a slot map of amounts.
        .col(text("occupied_slots"))
        // `PENDING`, `RUNNING`, `SUSPENDED` or `TERMINATED`.
        .col(string_len("status", 16))
        // NULL: it has not started.
        .col(big_integer_null("started_at"))
        // NULL: it has not ended.
        .col(big_integer_null("terminated_at"))
        // When the kernel was suspended (`-`) and went on (`+`), in microseconds since 1970, by time; NULL: never.
        .col(text_null("status_changes"))
        // Whether `terminated_at` was not reported: a snapshot or a time-out set it.
        .col(boolean("end_inferred").default(false))
        // The node that it runs on; NULL: it was not reported.
        .col(name_null("agent_id"))
        // The queue that it names; NULL: the queue of its project, else of its domain, else `default`.
        .col(name_null("queue"))
        // A larger number comes first.
        .col(integer("priority"))
        // Whether a plan may evict it.
        .col(boolean("preemptible"))
        // Whether it is never evicted, whatever the plan.
        .col(boolean("critical"))
        // The gang that it belongs to; NULL: the kernels of one session are one workload.
        .col(name_null("gang_id"))
        // How many members of the gang have to run together; NULL: all of them.
        .col(integer_null("gang_min"))
        .take()
}

fn cursor(mut cursors: TableCreateStatement) -> TableCreateStatement {
    cursors
        // Until when its usage is recorded, unless it is in step; NULL: none is recorded.
        .col(big_integer_null("recorded_until"))
        // Whether the `recorded_until` of its group holds for it, and not its own.
        .col(boolean("in_step"))
        // The changes of status that the kernel's records were made by, where they have to be made again by those in
        // `kernels`; NULL: they follow from those.
        .col(text_null("applied_changes"))
        // When the kernel was last reported, in microseconds since 1970 and to a few minutes; NULL: it is not known.
        .col(big_integer_null("seen_at"))
        .take()
}
