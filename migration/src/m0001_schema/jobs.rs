//! Jobs with their runs and leases, the processes that run them, and the clock.

use sea_orm::DbBackend;
use sea_orm::sea_query::TableCreateStatement;

use super::Subject;
use crate::columns::{
    big_integer, big_integer_null, integer, name_null, serial, string_len, string_len_null, table, text, text_null,
    uuid, uuid_null,
};

pub fn subject(backend: DbBackend) -> Subject {
    let clock = match backend {
        DbBackend::Postgres => {
            "INSERT INTO service_clock (id, revision, tag) VALUES (1, 0, floor(random() * 2147483647)::integer)"
        }
        _ => "INSERT INTO service_clock (id, revision, tag) VALUES (1, 0, abs(random() % 2147483647))",
    };
    let additions = vec![
        "CREATE INDEX ix_job_runs_job ON job_runs (job, started_at)",
        // Partial, because few runs have not ended.
        "CREATE INDEX ix_job_runs_open ON job_runs (job, resource_group) WHERE status = 'running'",
        clock,
    ];
    Subject { tables: vec![job_runs(), job_leases(), job_holders(), service_runs(), service_clock()], additions }
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
        // The process that runs it; NULL: the run is older than the registration of processes.
        .col(uuid_null("holder"))
        .to_owned()
}

/// The right to run a job in a group: one row for each job and group that ever had a run. A lease lasts as long as its holder
/// lives, so no end of it is stored.
fn job_leases() -> TableCreateStatement {
    table("job_leases")
        // JOB/GROUP.
        .col(string_len("name", 128).primary_key())
        // The process that may write; NULL: the lease is free.
        .col(uuid_null("holder"))
        // Grows whenever the lease is taken. Writes under an earlier number are refused.
        .col(big_integer("fence"))
        // The time at which it was taken, by the holder's clock.
        .col(big_integer("taken_at"))
        .to_owned()
}

/// Processes that run jobs.
fn job_holders() -> TableCreateStatement {
    table("job_holders")
        .col(uuid("id").primary_key())
        // The name of the process in messages: its number and its machine.
        .col(string_len("label", 255))
        // The beginning of the names under which PostgreSQL shows the sessions of the process; NULL: unknown.
        .col(string_len_null("session_name", 64))
        // The time of its start, by its own clock.
        .col(big_integer("started_at"))
        // The time of its last heartbeat, by the database's clock. NULL on SQLite, where a locked file beside the database
        // shows that it lives.
        .col(big_integer_null("beat_at"))
        .to_owned()
}

/// One row for each start of a serving process. The time between two rows is downtime.
fn service_runs() -> TableCreateStatement {
    table("service_runs")
        .col(serial("id"))
        .col(big_integer("started_at"))
        // The time of the process's last heartbeat.
        .col(big_integer("last_heartbeat_at"))
        .to_owned()
}

/// One row: the state of the clock checks.
fn service_clock() -> TableCreateStatement {
    table("service_clock")
        // Always 1: there is one row.
        .col(integer("id").primary_key())
        // Grows whenever an admin confirms that the clock is right.
        .col(big_integer("revision").default(0))
        // A random number that is set together with the revision, as those of resource_groups.
        .col(integer("tag").default(0))
        // The time that the clock showed at the confirmation; NULL: no admin ever confirmed it.
        .col(big_integer_null("trusted_at"))
        // The first reading that must be wrong, and the time that it should have been; NULL: no clock is distrusted.
        .col(big_integer_null("held_wall_at"))
        .col(big_integer_null("held_reference_at"))
        // The process that stored the reading; NULL as above.
        .col(uuid_null("held_by"))
        .to_owned()
}
