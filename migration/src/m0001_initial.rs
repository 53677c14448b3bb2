use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{
    big_integer, big_integer_null, boolean, double, integer, integer_null, string_len, string_len_null, text,
    text_null, uuid, uuid_null,
};
use sea_orm_migration::sea_orm::DbBackend;

/// Names that people give have at most 64 characters.
const NAME: u32 = 64;

pub struct Migration;

/// What its reversal loses.
pub const LOSES: &str = "everything: resource groups, kernels, usage, weights, people, keys and the audit log";

impl MigrationName for Migration {
    fn name(&self) -> &'static str {
        "m0001_initial"
    }
}

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        for table in tables() {
            manager.create_table(table).await?;
        }
        for index in indexes() {
            manager.create_index(index).await?;
        }
        // Only unsettled kernels are ever scanned by a run; the index holds nothing else.
        manager
            .get_connection()
            .execute_unprepared(
                "CREATE INDEX ix_kernels_unsettled ON kernels (resource_group, kernel_id) WHERE NOT settled",
            )
            .await?;
        if manager.get_database_backend() == DbBackend::Postgres {
            // Every run rewrites these rows in place; room on their page spares all their index entries.
            for table in REWRITTEN {
                let sql = format!("ALTER TABLE {table} SET (fillfactor = 45)");
                manager.get_connection().execute_unprepared(&sql).await?;
            }
        }
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        for table in TABLES.iter().rev() {
            manager.drop_table(Table::drop().table(*table).to_owned()).await?;
        }
        Ok(())
    }
}

/// What every run of a group changes.
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

fn table(name: &'static str) -> TableCreateStatement {
    Table::create().table(name).to_owned()
}

fn name(column: &'static str) -> ColumnDef {
    string_len(column, NAME)
}

fn primary(columns: &[&'static str]) -> IndexCreateStatement {
    let mut key = Index::create();
    for column in columns {
        key.col(*column);
    }
    key.primary().to_owned()
}

fn serial(column: &'static str) -> ColumnDef {
    big_integer(column).auto_increment().primary_key().to_owned()
}

fn tables() -> Vec<TableCreateStatement> {
    let mut all = entities();
    all.extend(accounting());
    all.extend(operations());
    all
}

/// Groups, nodes, and who may use them.
fn entities() -> Vec<TableCreateStatement> {
    vec![
        table("resource_groups")
            .col(name("name").primary_key())
            .col(string_len("scheduler", 32))
            .col(text("scheduler_opts"))
            // Bumped by every write of the group; readers reload what is behind.
            .col(big_integer("shares_revision").default(0))
            .col(big_integer("kernels_revision").default(0))
            .col(big_integer_null("capacity_observed_at"))
            .col(integer_null("records_from_day"))
            .col(big_integer_null("calculated_at"))
            .col(text_null("calculated_with"))
            .col(big_integer("created_at"))
            .col(big_integer("updated_at"))
            .to_owned(),
        table("agents")
            .col(name("resource_group"))
            .col(name("agent_id"))
            .col(text("available_slots"))
            .col(boolean("alive"))
            .col(boolean("schedulable"))
            .col(text("labels"))
            .col(big_integer("updated_at"))
            .primary_key(&mut primary(&["resource_group", "agent_id"]))
            .to_owned(),
        table("capacity_days")
            .col(name("resource_group"))
            .col(integer("day"))
            .col(string_len("source", 16))
            .col(text("integral"))
            .col(big_integer("observed_micros"))
            .col(text("capacity"))
            .primary_key(&mut primary(&["resource_group", "day"]))
            .to_owned(),
        table("domains").col(name("name").primary_key()).col(big_integer("created_at")).to_owned(),
        table("projects")
            .col(uuid("id").primary_key())
            .col(name("domain_name"))
            // The newest start that named the domain: reports in any order agree on it.
            .col(big_integer("domain_since"))
            .col(string_len_null("display_name", 255))
            .col(big_integer("created_at"))
            .to_owned(),
        table("users")
            .col(uuid("id").primary_key())
            .col(string_len_null("display_name", 255))
            .col(big_integer("created_at"))
            .to_owned(),
        table("memberships")
            .col(uuid("user_uuid"))
            .col(uuid("project_id"))
            .primary_key(&mut primary(&["user_uuid", "project_id"]))
            .to_owned(),
    ]
}

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
        .col(integer("period_start"))
        .col(integer("period_end"))
        .col(integer("decay_unit_days"))
        .col(text("resource_usage"))
        .col(big_integer("records"))
        .col(text("capacity_snapshot"))
        .col(big_integer("created_at"))
        .col(big_integer("updated_at"))
        .primary_key(&mut primary(&primary_columns))
        .to_owned()
}

fn shares(table_name: &'static str, keys: Vec<ColumnDef>, key_names: &[&'static str]) -> TableCreateStatement {
    let mut create = table(table_name);
    create.col(name("resource_group"));
    for key in keys {
        create.col(key);
    }
    let mut primary_columns = vec!["resource_group"];
    primary_columns.extend(key_names);
    create
        // Ten-thousandths; null: the group's default_weight.
        .col(big_integer_null("weight"))
        .col(text("total_decayed_usage"))
        .col(double("normalized_usage"))
        .col(double("fair_share_factor"))
        .col(big_integer("created_at"))
        .col(big_integer("updated_at"))
        .primary_key(&mut primary(&primary_columns))
        .to_owned()
}

/// Kernels, records, buckets, shares.
fn accounting() -> Vec<TableCreateStatement> {
    let member = || vec![uuid("user_uuid"), uuid("project_id")];
    vec![
        table("kernels")
            .col(uuid("kernel_id").primary_key())
            .col(name("resource_group"))
            .col(uuid("session_id"))
            .col(uuid("user_uuid"))
            .col(uuid("project_id"))
            .col(name("domain_name"))
            .col(text("occupied_slots"))
            .col(string_len("status", 16))
            .col(big_integer_null("started_at"))
            .col(big_integer_null("terminated_at"))
            .col(big_integer_null("last_usage_recorded_at"))
            .col(boolean("settled"))
            .col(string_len_null("agent_id", NAME))
            .col(string_len_null("queue", NAME))
            .col(integer("priority"))
            .col(boolean("preemptible"))
            .col(boolean("critical"))
            .col(string_len_null("gang_id", NAME))
            .col(integer_null("gang_min"))
            .to_owned(),
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
            .to_owned(),
        bucket("domain_usage_buckets", vec![name("domain_name")], &["domain_name"]),
        bucket("project_usage_buckets", vec![uuid("project_id")], &["project_id"]),
        bucket("user_usage_buckets", member(), &["user_uuid", "project_id"]),
        shares("domain_fair_shares", vec![name("domain_name")], &["domain_name"]),
        shares("project_fair_shares", vec![uuid("project_id")], &["project_id"]),
        shares("user_fair_shares", member(), &["user_uuid", "project_id"]),
    ]
}

/// What the service keeps about itself.
fn operations() -> Vec<TableCreateStatement> {
    vec![
        table("service_runs")
            .col(serial("id"))
            .col(big_integer("started_at"))
            .col(big_integer("last_heartbeat_at"))
            .to_owned(),
        table("usage_gaps")
            .col(serial("id"))
            .col(name("resource_group"))
            .col(big_integer("started_at"))
            .col(big_integer("ended_at"))
            .col(big_integer("handled_at"))
            .col(string_len("policy", 16))
            .col(big_integer("kernels"))
            .col(text("recorded_usage"))
            .col(text("dropped_usage"))
            .to_owned(),
        table("job_runs")
            .col(serial("id"))
            .col(string_len("job", 32))
            .col(string_len_null("resource_group", NAME))
            .col(string_len("trigger", 16))
            .col(string_len("status", 16))
            .col(big_integer("started_at"))
            .col(big_integer_null("ended_at"))
            .col(text("counts"))
            .col(text_null("error"))
            .to_owned(),
        table("job_leases")
            .col(string_len("name", 128).primary_key())
            .col(uuid("holder"))
            .col(big_integer("fence"))
            .col(big_integer("expires_at"))
            .to_owned(),
        table("api_keys")
            .col(uuid("id").primary_key())
            .col(string_len("key_hash", 64).unique_key())
            .col(string_len("role", 16))
            .col(string_len("label", 255))
            .col(uuid_null("user_uuid"))
            .col(big_integer("created_at"))
            .col(big_integer_null("expires_at"))
            .col(big_integer_null("revoked_at"))
            .col(big_integer_null("last_used_at"))
            .to_owned(),
        table("audit_log")
            .col(serial("id"))
            .col(big_integer("at"))
            .col(string_len("actor", 255))
            .col(uuid_null("key_id"))
            .col(string_len("request_id", 128))
            .col(string_len("action", 64))
            .col(string_len_null("resource_group", NAME))
            .col(string_len("target", 255))
            .col(text_null("before"))
            .col(text_null("after"))
            .col(text_null("reason"))
            .to_owned(),
    ]
}

fn indexes() -> Vec<IndexCreateStatement> {
    let index = |name: &'static str, table: &'static str, columns: &[&'static str]| {
        let mut create = Index::create();
        create.name(name).table(table);
        for column in columns {
            create.col(*column);
        }
        create
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
