//! The schema of the database, one file for each step, up and down on `SQLite` and `PostgreSQL`.
//!
//! # What columns hold
//! Each file says of each column what it holds, its unit, and what NULL means. A column without a word about NULL is never
//! NULL. Four kinds of values are the same everywhere:
//!
//! - An instant is a number of microseconds since 1970, in UTC. A day is a number of days since 1970, in UTC.
//! - An exact decimal is a text, because a decimal column of `SQLite` is a float.
//! - A slot map is the text of a JSON object from the name of a slot to an exact decimal. Amounts have the unit of their
//!   slot, such as cores, bytes or devices. Usages have that unit times seconds.
//! - A name that people give has at most 64 characters.
//!
//! # Rolling upgrades: expand, then contract
//! On `PostgreSQL` an old and a new version of the program may use one database at the same time, while servers are replaced
//! one after the other. The old version goes on working only if each step keeps what the old version needs:
//!
//! 1. **Expand.** A version adds tables, columns and indexes. A new column has a default or may be NULL, because the old
//!    version inserts rows without it. The new version reads old rows as well as new ones.
//! 2. **Move.** The step, or a job, fills the new columns of the rows that are there.
//! 3. **Contract.** Only a later version drops or renames what no supported version reads any more, and only then adds
//!    constraints that the older version would break.
//!
//! A step that cannot be made in this way says so where it stands, and CHANGELOG.md tells that all servers have to stop for
//! the upgrade. A step is never changed once a version with it was released: databases that have it would differ from those
//! that get it later. Comments may change.

#![allow(clippy::disallowed_methods, reason = "SQL lives here too")]

mod changes;
mod columns;
mod m0001_initial;
mod m0002_queues;
mod m0003_kernel_cursors;
mod m0004_bucket_order;
mod m0005_people;
mod m0006_kernels;
mod m0007_operations;
mod m0008_time_order;
mod m0009_expectations;
mod m0010_day_totals;
mod m0011_history;
mod m0012_configuration;
mod m0013_ui_sessions;
mod m0014_share_of_parent;
mod m0015_day_totals_room;
mod m0016_share_pages;
mod m0017_bucket_domains;
mod m0018_kernels_of_users;
mod m0019_earlier_kernels;
mod m0022_purged_days;
mod m0023_revision_tags;
mod steps;

use sea_orm::prelude::async_trait::async_trait;
use sea_orm::{ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr};

/// A change of the schema and its reversal.
#[async_trait]
trait Change: Send + Sync {
    async fn up(&self, db: &DatabaseTransaction) -> Result<(), DbErr>;

    async fn down(&self, db: &DatabaseTransaction) -> Result<(), DbErr>;
}

struct Step {
    name: &'static str,
    /// What its reversal loses.
    loses: &'static str,
    change: &'static dyn Change,
}

/// Every step, in the order in which they are applied.
const STEPS: &[Step] = {
    macro_rules! list {
        ($($module:ident)*) => {
            &[$(Step { name: stringify!($module), loses: $module::LOSES, change: &$module::Migration }),*]
        };
    }
    list!(
        m0001_initial m0002_queues m0003_kernel_cursors m0004_bucket_order m0005_people m0006_kernels m0007_operations
        m0008_time_order m0009_expectations m0010_day_totals m0011_history m0012_configuration m0013_ui_sessions
        m0014_share_of_parent m0015_day_totals_room m0016_share_pages m0017_bucket_domains m0018_kernels_of_users
        m0019_earlier_kernels m0022_purged_days m0023_revision_tags
    )
};

/// The names of the steps, in their order.
#[derive(Debug, Default)]
pub struct Schema {
    pub applied: Vec<String>,
    pub pending: Vec<String>,
    /// Applied by a newer version.
    pub unknown: Vec<String>,
}

/// What the database has of the schema. Changes nothing.
pub async fn schema(db: &impl ConnectionTrait) -> Result<Schema, DbErr> {
    let stored = steps::applied(db).await?;
    let names = |applied: bool| {
        let chosen = STEPS.iter().filter(|step| stored.contains(step.name) == applied);
        chosen.map(|step| step.name.to_owned()).collect()
    };
    let (applied, pending) = (names(true), names(false));
    let unknown = stored.into_iter().filter(|name| STEPS.iter().all(|step| step.name != name)).collect();
    Ok(Schema { applied, pending, unknown })
}

/// Applies every step that the database lacks.
pub async fn up(db: &DatabaseConnection) -> Result<(), DbErr> {
    let stored = steps::applied(db).await?;
    steps::keep_record(db).await?;
    for step in STEPS.iter().filter(|step| !stored.contains(step.name)) {
        steps::apply(db, step).await?;
    }
    Ok(())
}

/// Reverts the last `count` steps that the database has.
pub async fn down(db: &DatabaseConnection, count: usize) -> Result<(), DbErr> {
    let stored = steps::applied(db).await?;
    for step in STEPS.iter().rev().filter(|step| stored.contains(step.name)).take(count) {
        steps::revert(db, step).await?;
    }
    Ok(())
}

/// What the reversal of a step loses.
pub fn loses(name: &str) -> &'static str {
    STEPS.iter().find(|step| step.name == name).map_or("unknown data", |step| step.loses)
}
