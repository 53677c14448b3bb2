//! The processes that run jobs, their leases, and the state of the clock checks.
//!
//! A lease lasts as long as its holder lives, so no end of it is stored or waited for.

use sea_orm::DbErr;
use sea_orm::sea_query::TableCreateStatement;
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::changes::{add_column, create, drop_column, drop_table, run};
use super::columns::{big_integer, big_integer_null, integer, string_len, table, uuid, uuid_null};

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = "who runs jobs and what is known of clocks that went wrong; jobs begin again";

/// Processes that run jobs.
fn holders() -> TableCreateStatement {
    table("job_holders")
        .col(uuid("id").primary_key())
        // The name of the process in messages: its number and its machine.
        .col(string_len("label", 255))
        // The time of its start, in microseconds since 1970 by its own clock.
        .col(big_integer("started_at"))
        // The time of its last heartbeat, in microseconds since 1970 by the database's clock. NULL on SQLite, where a locked
        // file beside the database shows that it lives.
        .col(big_integer_null("beat_at"))
        .to_owned()
}

/// One row for each job and group that ever had a run.
fn leases() -> TableCreateStatement {
    table("job_leases")
        // JOB/GROUP.
        .col(string_len("name", 128).primary_key())
        // The process that may write; NULL: the lease is free.
        .col(uuid_null("holder"))
        // Grows whenever the lease is taken. Writes under an earlier number are refused.
        .col(big_integer("fence"))
        // The time at which it was taken, in microseconds since 1970 by the holder's clock.
        .col(big_integer("taken_at"))
        .to_owned()
}

/// The table before this step: leases with an end that has to be renewed.
fn leases_that_expire() -> TableCreateStatement {
    table("job_leases")
        .col(string_len("name", 128).primary_key())
        .col(uuid("holder"))
        .col(big_integer("fence"))
        .col(big_integer("expires_at"))
        .to_owned()
}

/// One row: the state of the clock checks.
fn service_clock() -> TableCreateStatement {
    table("service_clock")
        // Always 1: there is one row.
        .col(integer("id").primary_key())
        // Grows whenever an admin confirms that the clock is right.
        .col(big_integer("revision").default(0))
        // The time that the clock showed at the confirmation, in microseconds since 1970; NULL: no admin ever confirmed it.
        .col(big_integer_null("trusted_at"))
        // The first reading that must be wrong, and the time that it should have been, in microseconds since 1970. NULL: no
        // clock is distrusted.
        .col(big_integer_null("held_wall_at"))
        .col(big_integer_null("held_reference_at"))
        // The process that stored the reading; NULL as above.
        .col(uuid_null("held_by"))
        .to_owned()
}

#[async_trait]
impl MigrationTrait for Migration {
    // Leases of the version before are lost, so servers of that version have to stop for this step.
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        drop_table(db, "job_leases").await?;
        for table in [leases(), holders(), service_clock()] {
            create(db, table).await?;
        }
        // The process that runs it; NULL: the run is older than the registration of processes.
        add_column(db, "job_runs", uuid_null("holder")).await?;
        // Partial, because few runs have not ended.
        let open = "CREATE INDEX ix_job_runs_open ON job_runs (job, resource_group) WHERE status = 'running'";
        run(db, &[open, "INSERT INTO service_clock (id, revision) VALUES (1, 0)"]).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        run(db, &["DROP INDEX ix_job_runs_open"]).await?;
        drop_column(db, "job_runs", "holder").await?;
        for table in ["service_clock", "job_holders", "job_leases"] {
            drop_table(db, table).await?;
        }
        create(db, leases_that_expire()).await
    }
}
