//! Usage: records, buckets and day totals.

use sea_orm::DbBackend;
use sea_orm::sea_query::{ColumnDef, TableCreateStatement};

use super::Subject;
use crate::columns::{
    big_integer, boolean, in_its_key, integer, name, primary, rewritten, serial, string_len, table, text, uuid,
};

pub fn subject(backend: DbBackend) -> Subject {
    let mut additions = vec![
        // Buckets are listed in this order.
        "CREATE INDEX ix_domain_usage_bucket_period ON domain_usage_buckets (resource_group, period_start, domain_name)",
        "CREATE INDEX ix_project_usage_bucket_period ON project_usage_buckets (resource_group, period_start, project_id)",
        "CREATE INDEX ix_user_usage_bucket_period ON user_usage_buckets (resource_group, period_start, user_uuid, project_id)",
        "CREATE UNIQUE INDEX ux_usage_histories_name ON usage_histories (group_key, name)",
        "CREATE INDEX ix_usage_gaps_group ON usage_gaps (resource_group, started_at)",
    ];
    if backend == DbBackend::Postgres {
        // The program makes a partition for each day.
        additions.push("CREATE TABLE usage_slices_other PARTITION OF usage_slices DEFAULT");
    }
    let member = || vec![uuid("user_uuid"), uuid("project_id")];
    let tables = vec![
        usage_slices(backend),
        slice_kinds(backend),
        buckets("domain_usage_buckets", vec![name("domain_name")], &["domain_name"], backend),
        buckets("project_usage_buckets", vec![uuid("project_id")], &["project_id"], backend),
        buckets("user_usage_buckets", member(), &["user_uuid", "project_id"], backend),
        day_totals(backend),
        usage_histories(),
        usage_gaps(),
    ];
    Subject { tables, additions }
}

/// Usage records: the usage of one kernel in one slice, or in several that touch, have one kind, and were compacted. A record
/// lies within one day. Records come by the million, so they have short keys and lie in the order of time.
fn usage_slices(backend: DbBackend) -> TableCreateStatement {
    let mut slices = table("usage_slices");
    slices
        .col(integer("group_key"))
        // The end is not part of the slice.
        .col(big_integer("period_end"))
        .col(big_integer("kernel_key"))
        .col(big_integer("period_start"))
        // The row of slice_kinds with the domain and the slots.
        .col(integer("kind"))
        // The number of slices that it was made of.
        .col(integer("slices"))
        .primary_key(&mut primary(&["group_key", "period_end", "kernel_key"]));
    if backend == DbBackend::Postgres {
        slices.extra("PARTITION BY RANGE (period_end)");
    }
    in_its_key(slices, backend)
}

/// The values that many records of a group share.
fn slice_kinds(backend: DbBackend) -> TableCreateStatement {
    let kinds = table("slice_kinds")
        .col(integer("group_key"))
        // A number in the group.
        .col(integer("kind"))
        // The project's domain when the record was made; a project that moves later leaves it as it is.
        .col(name("domain_name"))
        // The charge class of the kernel when the record was made; empty: none.
        .col(name("charge_class").default(""))
        // The slots that the kernel held: a slot map of amounts.
        .col(text("slots"))
        // The last day with a record of this kind. It may be purged with the records of that day.
        .col(integer("used_on"))
        .primary_key(&mut primary(&["group_key", "kind"]))
        .to_owned();
    in_its_key(kinds, backend)
}

/// Usage of some days, by domain, by project, or by user and project.
fn buckets(
    table_name: &'static str,
    owner: Vec<ColumnDef>,
    owner_names: &[&'static str],
    backend: DbBackend,
) -> TableCreateStatement {
    let mut buckets = table(table_name);
    buckets.col(name("resource_group"));
    for column in owner {
        buckets.col(column);
    }
    buckets
        // The first and the last day with usage, both inclusive.
        .col(integer("period_start"))
        .col(integer("period_end"))
        // The most days that the bucket may hold: the group's `decay_unit_days` when it was created.
        .col(integer("decay_unit_days"))
        // The sum of its records: a slot map of usages.
        .col(text("resource_usage"))
        // The number of records in the sum.
        .col(big_integer("records"))
        // The capacity of its last day: a slot map of amounts.
        .col(text("capacity_snapshot"))
        .col(big_integer("created_at"))
        .col(big_integer("updated_at"))
        .primary_key(&mut primary(&[&["resource_group"], owner_names, &["period_start"]].concat()));
    rewritten(buckets, backend)
}

/// The usage of each day, for reports by day, week and month, because buckets may hold several days: one row for each day on
/// which a user used something in a project, for each domain and charge class that it counted for.
fn day_totals(backend: DbBackend) -> TableCreateStatement {
    let totals = table("day_totals")
        .col(integer("group_key"))
        .col(integer("day"))
        .col(uuid("user_uuid"))
        .col(uuid("project_id"))
        // The domain that the usage counts for; a project that moves later leaves it as it is.
        .col(name("domain_name"))
        // The charge class that the usage was recorded with; empty: none.
        .col(name("charge_class").default(""))
        // 0: recorded by runs; otherwise the `source` of a row in `usage_histories`.
        .col(integer("source"))
        // A slot map of usages.
        .col(text("resource_usage"))
        // The number of slices in the sum; in a history, the number of jobs.
        .col(big_integer("records"))
        .primary_key(&mut primary(&[
            "group_key",
            "day",
            "user_uuid",
            "project_id",
            "domain_name",
            "charge_class",
            "source",
        ]))
        .to_owned();
    rewritten(in_its_key(totals, backend), backend)
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

/// Downtimes that kernels of a group spanned.
fn usage_gaps() -> TableCreateStatement {
    table("usage_gaps")
        .col(serial("id"))
        .col(name("resource_group"))
        .col(big_integer("started_at"))
        .col(big_integer("ended_at"))
        // The time of the run that found the downtime.
        .col(big_integer("handled_at"))
        // The group's `gap_policy` then: `interpolate` or `ignore`.
        .col(string_len("policy", 16))
        // The number of kernels that spanned it.
        .col(big_integer("kernels"))
        // Their usage within it that was recorded, and the usage that was left out: slot maps of usages.
        .col(text("recorded_usage"))
        .col(text("dropped_usage"))
        .to_owned()
}
