//! The first tables: groups and nodes, people, kernels, usage, shares, and the service's own records.

use sea_orm::sea_query::{ColumnDef, IndexCreateStatement, TableCreateStatement};
use sea_orm::{ConnectionTrait, DbErr};
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::changes::{create, drop_table, run, run_on_postgres};
use super::columns::{
    big_integer, big_integer_null, boolean, double, index, integer, integer_null, name, name_null, primary, serial,
    string_len, string_len_null, table, text, text_null, uuid, uuid_null,
};

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = "everything: resource groups, kernels, usage, weights, people, keys and the audit log";

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        for table in entities().into_iter().chain(accounting()).chain(operations()) {
            create(db, table).await?;
        }
        for index in indexes() {
            db.execute(&index).await?;
        }
        // A run reads unsettled kernels only, so the index contains no others.
        run(db, &["CREATE INDEX ix_kernels_unsettled ON kernels (resource_group, kernel_id) WHERE NOT settled"])
            .await?;
        // Every run rewrites these rows in place. With free space on their page, no index entry changes.
        for table in REWRITTEN {
            run_on_postgres(db, &[&format!("ALTER TABLE {table} SET (fillfactor = 45)")]).await?;
        }
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        for table in TABLES.iter().rev() {
            drop_table(db, table).await?;
        }
        Ok(())
    }
}

/// Tables that every run of a group changes.
const REWRITTEN: [&str; 7] = [
    "kernels",
    "domain_usage_buckets",
    "project_usage_buckets",
    "user_usage_buckets",
    "domain_fair_shares",
    "project_fair_shares",
    "user_fair_shares",
];

const TABLES: [&str; 21] = [
    "resource_groups",
    "agents",
    "capacity_days",
    "domains",
    "projects",
    "users",
    "memberships",
    "kernels",
    "kernel_usage_records",
    "domain_usage_buckets",
    "project_usage_buckets",
    "user_usage_buckets",
    "domain_fair_shares",
    "project_fair_shares",
    "user_fair_shares",
    "service_runs",
    "usage_gaps",
    "job_runs",
    "job_leases",
    "api_keys",
    "audit_log",
];

/// Groups, nodes and people.
fn entities() -> Vec<TableCreateStatement> {
    vec![
        resource_groups(),
        agents(),
        capacity_days(),
        table("domains")
            .col(name("name").primary_key())
            // The time at which it was first named.
            .col(big_integer("created_at"))
            .to_owned(),
        projects(),
        table("users")
            .col(uuid("id").primary_key())
            // The name that is shown in place of the UUID; NULL: the UUID is shown.
            .col(string_len_null("display_name", 255))
            .col(big_integer("created_at"))
            .to_owned(),
        // The users that have used each project, in any group.
        table("memberships")
            .col(uuid("user_uuid"))
            .col(uuid("project_id"))
            .primary_key(&mut primary(&["user_uuid", "project_id"]))
            .to_owned(),
    ]
}

fn resource_groups() -> TableCreateStatement {
    table("resource_groups")
        .col(name("name").primary_key())
        // The name of the sequencer, such as `fairshare`.
        .col(string_len("scheduler", 32))
        // The options that an admin set, as a JSON object; an option that is missing has its default.
        .col(text("scheduler_opts"))
        // Grows with every change of shares, options, capacities or names; processes compare it to find out what to read
        // again.
        .col(big_integer("shares_revision").default(0))
        // Grows with every write of the group. A writer changes it first, and so holds the row's lock until it commits.
        .col(big_integer("kernels_revision").default(0))
        // The time until which the capacity of the group's nodes was observed; NULL: it never was.
        .col(big_integer_null("capacity_observed_at"))
        // The first day whose usage records exist; NULL: none were purged.
        .col(integer_null("records_from_day"))
        // The time at which factors and ranks were last calculated; NULL: they never were.
        .col(big_integer_null("calculated_at"))
        // The options of that calculation, as a JSON object; NULL as above.
        .col(text_null("calculated_with"))
        .col(big_integer("created_at"))
        .col(big_integer("updated_at"))
        .to_owned()
}

/// Nodes.
fn agents() -> TableCreateStatement {
    table("agents")
        .col(name("resource_group"))
        .col(name("agent_id"))
        // All slots of the node, used or not: a slot map of amounts.
        .col(text("available_slots"))
        // True if the node answers, and true if it accepts new kernels. Its slots count only while both are true.
        .col(boolean("alive"))
        .col(boolean("schedulable"))
        // A JSON object of texts.
        .col(text("labels"))
        .col(big_integer("updated_at"))
        .primary_key(&mut primary(&["resource_group", "agent_id"]))
        .to_owned()
}

/// The capacity of a group on one day.
fn capacity_days() -> TableCreateStatement {
    table("capacity_days")
        .col(name("resource_group"))
        .col(integer("day"))
        // `observed`: the service watched the nodes; `given`: an import brought it; `nearest`: copied from the nearest
        // day that was observed or given.
        .col(string_len("source", 16))
        // Capacity times the time for which it was observed: a slot map of usages. Empty unless observed.
        .col(text("integral"))
        // The time for which it was observed, in microseconds.
        .col(big_integer("observed_micros"))
        // The divisor of the day's usage: a slot map of amounts, the mean over the observed time.
        .col(text("capacity"))
        .primary_key(&mut primary(&["resource_group", "day"]))
        .to_owned()
}

fn projects() -> TableCreateStatement {
    table("projects")
        .col(uuid("id").primary_key())
        .col(name("domain_name"))
        // The newest start of a kernel that named the domain, so that the result does not depend on the order of reports.
        .col(big_integer("domain_since"))
        // The name that is shown in place of the UUID; NULL: the UUID is shown.
        .col(string_len_null("display_name", 255))
        .col(big_integer("created_at"))
        .to_owned()
}

/// Kernels, records, buckets, shares.
fn accounting() -> Vec<TableCreateStatement> {
    let member = || vec![uuid("user_uuid"), uuid("project_id")];
    vec![
        kernels(),
        kernel_usage_records(),
        bucket("domain_usage_buckets", vec![name("domain_name")], &["domain_name"]),
        bucket("project_usage_buckets", vec![uuid("project_id")], &["project_id"]),
        bucket("user_usage_buckets", member(), &["user_uuid", "project_id"]),
        shares("domain_fair_shares", vec![name("domain_name")], &["domain_name"]),
        shares("project_fair_shares", vec![uuid("project_id")], &["project_id"]),
        shares("user_fair_shares", member(), &["user_uuid", "project_id"]),
    ]
}

/// Kernels as they were last reported.
fn kernels() -> TableCreateStatement {
    table("kernels")
        .col(uuid("kernel_id").primary_key())
        .col(name("resource_group"))
        .col(uuid("session_id"))
        .col(uuid("user_uuid"))
        .col(uuid("project_id"))
        // The domain that the report named. Usage that is recorded from now on belongs to the project's domain.
        .col(name("domain_name"))
        // The slots that the kernel holds while it runs: a slot map of amounts.
        .col(text("occupied_slots"))
        // `PENDING`, `RUNNING` or `TERMINATED`; m0006 adds `SUSPENDED`.
        .col(string_len("status", 16))
        // NULL: it has not started.
        .col(big_integer_null("started_at"))
        // NULL: it has not ended.
        .col(big_integer_null("terminated_at"))
        // The time until which its usage is recorded; NULL: none is. m0003 moves it to kernel_cursors.
        .col(big_integer_null("last_usage_recorded_at"))
        // True if it has ended and all its usage is recorded. m0003 replaces it by a missing row in kernel_cursors.
        .col(boolean("settled"))
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

/// The usage of one kernel in one slice, which lies within one day.
fn kernel_usage_records() -> TableCreateStatement {
    table("kernel_usage_records")
        .col(uuid("kernel_id"))
        .col(big_integer("period_start"))
        // The end is not part of the slice.
        .col(big_integer("period_end"))
        .col(uuid("session_id"))
        .col(uuid("user_uuid"))
        .col(uuid("project_id"))
        // The project's domain when the slice was recorded; a project that moves later leaves it as it is.
        .col(name("domain_name"))
        .col(name("resource_group"))
        // A slot map of usages.
        .col(text("resource_usage"))
        .primary_key(&mut primary(&["kernel_id", "period_start"]))
        .to_owned()
}

/// Usage of some days, by domain, by project, or by user and project.
fn bucket(table_name: &'static str, keys: Vec<ColumnDef>, key_names: &[&'static str]) -> TableCreateStatement {
    let mut create = table(table_name);
    create.col(name("resource_group"));
    for key in keys {
        create.col(key);
    }
    let mut primary_columns = vec!["resource_group"];
    primary_columns.extend(key_names);
    primary_columns.push("period_start");
    create
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
        .primary_key(&mut primary(&primary_columns))
        .to_owned()
}

/// Weight and factor of a domain, of a project, or of a user in a project.
fn shares(table_name: &'static str, keys: Vec<ColumnDef>, key_names: &[&'static str]) -> TableCreateStatement {
    let mut create = table(table_name);
    create.col(name("resource_group"));
    for key in keys {
        create.col(key);
    }
    let mut primary_columns = vec!["resource_group"];
    primary_columns.extend(key_names);
    create
        // The weight in ten-thousandths; NULL: the group's `default_weight`.
        .col(big_integer_null("weight"))
        // A slot map of usages, each day's multiplied by its decay.
        .col(text("total_decayed_usage"))
        // Decayed usage as a part of the group's capacity in its look-back, from 0 on, without a unit.
        .col(double("normalized_usage"))
        // From 0 to 1; 1 for owners without usage.
        .col(double("fair_share_factor"))
        .col(big_integer("created_at"))
        .col(big_integer("updated_at"))
        .primary_key(&mut primary(&primary_columns))
        .to_owned()
}

/// The service's own records.
fn operations() -> Vec<TableCreateStatement> {
    vec![
        // One row for each start of a serving process. The time between two rows is downtime.
        table("service_runs")
            .col(serial("id"))
            .col(big_integer("started_at"))
            // The time of the process's last heartbeat.
            .col(big_integer("last_heartbeat_at"))
            .to_owned(),
        usage_gaps(),
        job_runs(),
        job_leases(),
        api_keys(),
        audit_log(),
    ]
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

fn job_runs() -> TableCreateStatement {
    table("job_runs")
        .col(serial("id"))
        .col(string_len("job", 32))
        // NULL: the run was not for a single group.
        .col(name_null("resource_group"))
        // `schedule` or `manual`.
        .col(string_len("trigger", 16))
        // `running`, `succeeded`, `failed`, `panicked` or `abandoned`.
        .col(string_len("status", 16))
        .col(big_integer("started_at"))
        // NULL: it still runs.
        .col(big_integer_null("ended_at"))
        // The counts of the run, as a JSON object; empty until it has succeeded.
        .col(text("counts"))
        // The reason of its failure; NULL: it did not fail.
        .col(text_null("error"))
        .to_owned()
}

/// The right to run a job in a group. m0007 replaces the table.
fn job_leases() -> TableCreateStatement {
    table("job_leases")
        // JOB/GROUP.
        .col(string_len("name", 128).primary_key())
        // The process that has the lease.
        .col(uuid("holder"))
        // Grows whenever the lease is taken.
        .col(big_integer("fence"))
        .col(big_integer("expires_at"))
        .to_owned()
}

fn api_keys() -> TableCreateStatement {
    table("api_keys")
        .col(uuid("id").primary_key())
        // SHA-256 of the whole key in hexadecimal digits; the key itself is stored nowhere.
        .col(string_len("key_hash", 64).unique_key())
        // `admin`, `scheduler`, `viewer` or `user`.
        .col(string_len("role", 16))
        .col(string_len("label", 255))
        // The user whose rows a key with the role `user` may see; NULL: the key has another role.
        .col(uuid_null("user_uuid"))
        .col(big_integer("created_at"))
        // NULL: it does not expire.
        .col(big_integer_null("expires_at"))
        // NULL: it was not revoked.
        .col(big_integer_null("revoked_at"))
        // To about ten seconds; NULL: it was never used.
        .col(big_integer_null("last_used_at"))
        .to_owned()
}

fn audit_log() -> TableCreateStatement {
    table("audit_log")
        .col(serial("id"))
        .col(big_integer("at"))
        // The label of the key, or `cli`, or the name of a job.
        .col(string_len("actor", 255))
        // NULL: the change needed no key, because the command line or a job made it.
        .col(uuid_null("key_id"))
        .col(string_len("request_id", 128))
        // The action, such as `weights.put`.
        .col(string_len("action", 64))
        // NULL: the change was not of a single group.
        .col(name_null("resource_group"))
        // The target of the change: a name or a UUID.
        .col(string_len("target", 255))
        // The values before and after, as JSON; NULL: there was no value before, or there is none after.
        .col(text_null("before"))
        .col(text_null("after"))
        // The reason that the request gave; NULL: it gave none.
        .col(text_null("reason"))
        .to_owned()
}

fn indexes() -> Vec<IndexCreateStatement> {
    let index = |name: &'static str, table: &'static str, columns: &[&'static str]| {
        index(columns).name(name).table(table).to_owned()
    };
    vec![
        index("ix_kernels_group", "kernels", &["resource_group", "kernel_id"]),
        index("ix_kernel_usage_rg_period", "kernel_usage_records", &["resource_group", "period_start"]),
        index("ix_domain_usage_bucket_period", "domain_usage_buckets", &["resource_group", "period_start"]),
        index("ix_project_usage_bucket_period", "project_usage_buckets", &["resource_group", "period_start"]),
        index("ix_user_usage_bucket_period", "user_usage_buckets", &["resource_group", "period_start"]),
        index("ix_projects_domain", "projects", &["domain_name"]),
        index("ix_memberships_project", "memberships", &["project_id"]),
        index("ix_audit_log_at", "audit_log", &["at"]),
        index("ix_job_runs_job", "job_runs", &["job", "started_at"]),
        index("ix_usage_gaps_group", "usage_gaps", &["resource_group", "started_at"]),
    ]
}
