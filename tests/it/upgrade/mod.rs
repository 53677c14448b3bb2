//! Databases of version 0.1 are taken over: `sqlite.sql` and `postgres.sql` are dumps of databases in which a program of that
//! version has kept the history of a small cluster, after the last one has migrated them. `answers.json` has the answers of
//! the first program, without what is random and without sentences.

mod schema;
mod story;

use crate::support::database::{TestDb, postgres_unmigrated, sqlite_unmigrated};

/// A database that version 0.1 has left, of the same kind as `db`.
pub async fn of_version_0_1(db: &TestDb) -> TestDb {
    let (made, dump) = match db.postgres_name() {
        Some(_) => (postgres_unmigrated().await, include_str!("postgres.sql")),
        None => (sqlite_unmigrated(), include_str!("sqlite.sql")),
    };
    // The file of an SQLite database.
    made.store().await.close().await.unwrap();
    made.execute(dump).await;
    made
}
