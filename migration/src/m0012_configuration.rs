//! The targets of each audit entry, by which it is found; the revision of each group's configuration.

use sea_orm::sea_query::TableCreateStatement;
use sea_orm::{ConnectionTrait, DbBackend, DbErr};
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::changes::{add_column, create, drop_column, drop_index, drop_table, run};
use super::columns::{big_integer, index, name, primary, string_len, table};

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = "the revisions of configurations; they begin again";

const TARGET_INDEX: &str = "ix_audit_log_target";

/// One row for each weight, option and project that an entry has changed; an entry may have changed thousands.
fn audit_targets() -> TableCreateStatement {
    table("audit_targets")
        // The target of the change, such as `domain:research` or `option:half_life_days`.
        .col(string_len("target", 255))
        .col(name("resource_group"))
        // The entry in `audit_log`.
        .col(big_integer("audit_id"))
        .primary_key(&mut primary(&["target", "resource_group", "audit_id"]))
        .to_owned()
}

/// The weights that existing entries have changed.
const WEIGHTS: [&str; 2] = [
    "INSERT INTO audit_targets (target, resource_group, audit_id) \
     SELECT new.key, log.resource_group, log.id FROM audit_log log JOIN json_each(log.after) new \
     LEFT JOIN json_each(log.before) old ON old.key = new.key \
     WHERE log.action = 'weights.put' AND log.resource_group IS NOT NULL AND new.value IS NOT old.value",
    "INSERT INTO audit_targets (target, resource_group, audit_id) \
     SELECT new.key, log.resource_group, log.id FROM audit_log log CROSS JOIN LATERAL jsonb_each_text(log.after::jsonb) new \
     WHERE log.action = 'weights.put' AND log.resource_group IS NOT NULL \
     AND new.value IS DISTINCT FROM (log.before::jsonb ->> new.key)",
];

/// The options that existing entries have changed, added or removed, and the scheduler.
const OPTIONS: [&str; 2] = [
    "WITH log AS (SELECT * FROM audit_log WHERE action IN ('scheduler_options.patch', 'resource_group.put') \
       AND resource_group IS NOT NULL AND before IS NOT NULL AND after IS NOT NULL) \
     INSERT INTO audit_targets (target, resource_group, audit_id) \
     SELECT 'option:' || new.key, log.resource_group, log.id FROM log JOIN json_each(log.after, '$.scheduler_opts') new \
     LEFT JOIN json_each(log.before, '$.scheduler_opts') old ON old.key = new.key WHERE new.value IS NOT old.value \
     UNION SELECT 'option:' || old.key, log.resource_group, log.id FROM log JOIN json_each(log.before, '$.scheduler_opts') old \
     LEFT JOIN json_each(log.after, '$.scheduler_opts') new ON new.key = old.key WHERE new.key IS NULL \
     UNION SELECT 'option:scheduler', log.resource_group, log.id FROM log \
     WHERE json_extract(log.before, '$.scheduler') IS NOT json_extract(log.after, '$.scheduler')",
    "WITH log AS (SELECT id, resource_group, before::jsonb AS before, after::jsonb AS after FROM audit_log \
       WHERE action IN ('scheduler_options.patch', 'resource_group.put') AND resource_group IS NOT NULL \
       AND before IS NOT NULL AND after IS NOT NULL) \
     INSERT INTO audit_targets (target, resource_group, audit_id) \
     SELECT 'option:' || new.key, log.resource_group, log.id \
     FROM log CROSS JOIN LATERAL jsonb_each(log.after -> 'scheduler_opts') new \
     WHERE new.value IS DISTINCT FROM (log.before -> 'scheduler_opts' -> new.key) \
     UNION SELECT 'option:' || old.key, log.resource_group, log.id \
     FROM log CROSS JOIN LATERAL jsonb_object_keys(log.before -> 'scheduler_opts') old (key) \
     WHERE log.after -> 'scheduler_opts' -> old.key IS NULL \
     UNION SELECT 'option:scheduler', log.resource_group, log.id FROM log \
     WHERE (log.before ->> 'scheduler') IS DISTINCT FROM (log.after ->> 'scheduler')",
];

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        create(db, audit_targets()).await?;
        let dialect = usize::from(db.get_database_backend() == DbBackend::Postgres);
        run(db, &[WEIGHTS[dialect], OPTIONS[dialect]]).await?;
        db.execute(index(&["resource_group", "target", "at"]).name(TARGET_INDEX).table("audit_log")).await?;
        // Grows with every change of weights, options, agents, capacities, queues and people.
        add_column(db, "resource_groups", big_integer("config_revision").default(1).take()).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        drop_column(db, "resource_groups", "config_revision").await?;
        drop_index(db, "audit_log", TARGET_INDEX).await?;
        drop_table(db, "audit_targets").await
    }
}
