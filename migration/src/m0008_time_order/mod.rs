//! Usage records in the order of time.
//!
//! The key of a record was its kernel and its time, so that every record of a run was written to another page of the table.
//! From this step on the records of a run are next to each other: the key is the group, then the time, then the kernel.
//! Kernels and groups have short numbers, and the values that many records share (the domain and the slots) are stored once.
//!
//! All servers have to stop for this step, because it replaces tables that the version before writes.

mod decimals;
mod records;
mod tables;

use sea_orm::{ConnectionTrait, DbErr};
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager, SchemaManagerConnection};

use super::changes::{add_column, create, drop_column, drop_index, drop_table, run, run_on_postgres};
use super::columns::{big_integer, big_integer_null, index, integer, integer_null};

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = "how many slices were put together in each record; run the job rebuild afterwards, so that buckets count records again";

/// The columns of kernels that are the same before and after.
const SAME: &str = "kernel_id, session_id, user_uuid, project_id, domain_name, occupied_slots, status, started_at, \
                    terminated_at, status_changes, end_inferred, agent_id, queue, priority, preemptible, critical, gang_id, \
                    gang_min";

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        number_groups(db).await?;
        run(db, &["ALTER TABLE kernels RENAME TO kernels_before"]).await?;
        run(db, &["ALTER TABLE kernel_cursors RENAME TO kernel_cursors_before"]).await?;
        drop_index(db, "kernels_before", "ix_kernels_group").await?;
        drop_index(db, "kernels_before", "ix_kernels_user").await?;
        let backend = db.get_database_backend();
        create(db, tables::kernels(backend)).await?;
        create(db, tables::kernel_cursors(backend)).await?;
        run(db, &[&number_kernels(), MOVE_CURSORS, COUNT_KERNELS, "DROP TABLE kernel_cursors_before"]).await?;
        create(db, tables::slice_kinds(backend)).await?;
        create(db, tables::usage_slices(backend)).await?;
        run_on_postgres(db, &["CREATE TABLE usage_slices_other PARTITION OF usage_slices DEFAULT"]).await?;
        db.execute(index(&["kernel_id"]).name("ux_kernels_id").table("kernels").unique()).await?;
        records::forward(db).await?;
        drop_table(db, "kernel_usage_records").await?;
        drop_table(db, "kernels_before").await?;
        // An index of the kernels of a user, by which their records are found.
        let of_user = ["group_key", "user_uuid", "kernel_key"];
        db.execute(index(&of_user).name("ix_kernels_user").table("kernels")).await.map(|_| ())
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        run(db, &["ALTER TABLE kernels RENAME TO kernels_after"]).await?;
        run(db, &["ALTER TABLE kernel_cursors RENAME TO kernel_cursors_after"]).await?;
        drop_index(db, "kernels_after", "ix_kernels_user").await?;
        create(db, tables::kernels_before()).await?;
        create(db, tables::kernel_cursors_before()).await?;
        create(db, tables::kernel_usage_records()).await?;
        let kernels_back = format!(
            "INSERT INTO kernels (resource_group, {SAME}) SELECT g.name, {SAME} \
             FROM kernels_after k JOIN resource_groups g ON g.group_key = k.group_key"
        );
        run(db, &[&kernels_back, MOVE_CURSORS_BACK]).await?;
        records::back(db).await?;
        for table in ["kernel_cursors_after", "usage_slices", "slice_kinds", "kernels_after"] {
            drop_table(db, table).await?;
        }
        for (name, table, columns) in INDEXES_BEFORE {
            db.execute(index(columns).name(name).table(table)).await?;
        }
        run_on_postgres(db, &["DROP SEQUENCE resource_group_keys"]).await?;
        drop_index(db, "resource_groups", "ux_resource_groups_key").await?;
        for column in ["kernels_from", "compacted_before", "kinds_made", "kernels_made", "group_key"] {
            drop_column(db, "resource_groups", column).await?;
        }
        Ok(())
    }
}

const INDEXES_BEFORE: [(&str, &str, &[&str]); 3] = [
    ("ix_kernels_group", "kernels", &["resource_group", "kernel_id"]),
    ("ix_kernels_user", "kernels", &["resource_group", "user_uuid", "kernel_id"]),
    ("ix_kernel_usage_rg_period", "kernel_usage_records", &["resource_group", "period_start"]),
];

async fn number_groups(db: &SchemaManagerConnection<'_>) -> Result<(), DbErr> {
    let columns = [
        // The id of the group in other tables.
        integer("group_key").default(0).take(),
        // The number of kernels that the group ever had, which is the number of the last one.
        big_integer("kernels_made").default(0).take(),
        // The number of rows in slice_kinds that the group ever had, which is the number of the last one.
        integer("kinds_made").default(0).take(),
    ];
    for column in columns {
        add_column(db, "resource_groups", column).await?;
    }
    // The first day whose records were not compacted; NULL: none were.
    add_column(db, "resource_groups", integer_null("compacted_before")).await?;
    // Kernels that ended before this time were removed, in microseconds since 1970; NULL: none were.
    add_column(db, "resource_groups", big_integer_null("kernels_from")).await?;
    let number = "UPDATE resource_groups SET group_key = \
                  (SELECT COUNT(*) FROM resource_groups o WHERE o.name <= resource_groups.name)";
    run(db, &[number]).await?;
    db.execute(index(&["group_key"]).name("ux_resource_groups_key").table("resource_groups").unique()).await?;
    let next = "SELECT setval('resource_group_keys', (SELECT COUNT(*) + 1 FROM resource_groups), FALSE)";
    run_on_postgres(db, &["CREATE SEQUENCE resource_group_keys", next]).await
}

/// Numbers kernels in the order of their starts.
fn number_kernels() -> String {
    let same = SAME.split(", ").map(|column| format!("k.{column}")).collect::<Vec<_>>().join(", ");
    format!(
        "INSERT INTO kernels (kernel_key, group_key, {SAME}) SELECT g.group_key * {} + ROW_NUMBER() OVER \
         (PARTITION BY k.resource_group ORDER BY k.started_at IS NULL, k.started_at, k.kernel_id), g.group_key, {same} \
         FROM kernels_before k JOIN resource_groups g ON g.name = k.resource_group ORDER BY 1",
        tables::KERNELS_OF_A_GROUP
    )
}

const MOVE_CURSORS: &str = "INSERT INTO kernel_cursors (kernel_key, recorded_until, in_step, applied_changes, seen_at) \
                            SELECT k.kernel_key, c.recorded_until, c.in_step, c.applied_changes, c.seen_at \
                            FROM kernel_cursors_before c JOIN kernels k ON k.kernel_id = c.kernel_id ORDER BY 1";

const COUNT_KERNELS: &str = "UPDATE resource_groups SET kernels_made = \
                             (SELECT COUNT(*) FROM kernels k WHERE k.group_key = resource_groups.group_key)";

const MOVE_CURSORS_BACK: &str = "INSERT INTO kernel_cursors (resource_group, kernel_id, recorded_until, in_step, applied_changes, seen_at) \
     SELECT g.name, k.kernel_id, c.recorded_until, c.in_step, c.applied_changes, c.seen_at FROM kernel_cursors_after c \
     JOIN kernels_after k ON k.kernel_key = c.kernel_key JOIN resource_groups g ON g.group_key = k.group_key";
