//! Who runs jobs, under which lease, and whether the clock can be believed.
//!
//! A lease lasts as long as its holder lives: there is no end of it to be stored, and none to be waited for.

use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{big_integer, big_integer_null, integer, string_len, uuid, uuid_null};

pub struct Migration;

/// What its reversal loses.
pub const LOSES: &str = "who runs jobs and what is known of clocks that went wrong; jobs begin anew";

impl MigrationName for Migration {
    fn name(&self) -> &'static str {
        "m0007_operations"
    }
}

fn table(name: &'static str) -> TableCreateStatement {
    Table::create().table(name).to_owned()
}

/// Processes that run jobs.
fn holders() -> TableCreateStatement {
    table("job_holders")
        .col(uuid("id").primary_key())
        // What messages call the process: its number and its machine.
        .col(string_len("label", 255))
        // When it began, microseconds since 1970 by its own clock.
        .col(big_integer("started_at"))
        // When it was last heard of, microseconds since 1970 by the database's clock. NULL on SQLite, where a locked file
        // beside the database says that it lives.
        .col(big_integer_null("beat_at"))
        .to_owned()
}

/// One row for each job and group that ever ran.
fn leases() -> TableCreateStatement {
    table("job_leases")
        // JOB/GROUP.
        .col(string_len("name", 128).primary_key())
        // Who may write; NULL: nobody.
        .col(uuid_null("holder"))
        // Grows whenever the lease is taken: what was written under an earlier number is refused.
        .col(big_integer("fence"))
        // When it was taken, microseconds since 1970 by the holder's clock.
        .col(big_integer("taken_at"))
        .to_owned()
}

/// As it was before: an end that has to be renewed.
fn leases_that_expire() -> TableCreateStatement {
    table("job_leases")
        .col(string_len("name", 128).primary_key())
        .col(uuid("holder"))
        .col(big_integer("fence"))
        .col(big_integer("expires_at"))
        .to_owned()
}

/// One row: what is known of clocks that went wrong.
fn service_clock() -> TableCreateStatement {
    table("service_clock")
        .col(integer("id").primary_key())
        // Grows whenever an admin says that the clock is right.
        .col(big_integer("revision").default(0))
        // What the clock said then, microseconds since 1970; NULL: nobody ever had to say so.
        .col(big_integer_null("trusted_at"))
        // The first reading that could not be right, and the time that it should have been, microseconds since 1970.
        // NULL: no clock is held.
        .col(big_integer_null("held_wall_at"))
        .col(big_integer_null("held_reference_at"))
        // The process that stored the reading; NULL as above.
        .col(uuid_null("held_by"))
        .to_owned()
}

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.drop_table(Table::drop().table("job_leases").to_owned()).await?;
        for table in [leases(), holders(), service_clock()] {
            manager.create_table(table).await?;
        }
        // The process that runs it; NULL: the run is older than holders are.
        let holder = Table::alter().table("job_runs").add_column(uuid_null("holder")).to_owned();
        manager.alter_table(holder).await?;
        // There are few of them at a time, among all that ever ran.
        run(manager, "CREATE INDEX ix_job_runs_open ON job_runs (job, resource_group) WHERE status = 'running'")
            .await?;
        run(manager, "INSERT INTO service_clock (id, revision) VALUES (1, 0)").await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        run(manager, "DROP INDEX ix_job_runs_open").await?;
        manager.alter_table(Table::alter().table("job_runs").drop_column("holder").to_owned()).await?;
        for table in ["service_clock", "job_holders", "job_leases"] {
            manager.drop_table(Table::drop().table(table).to_owned()).await?;
        }
        manager.create_table(leases_that_expire()).await
    }
}

async fn run(manager: &SchemaManager<'_>, sql: &str) -> Result<(), DbErr> {
    manager.get_connection().execute_unprepared(sql).await.map(|_| ())
}
