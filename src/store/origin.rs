//! The origin of a `PostgreSQL` database: its cluster and its timeline. The timeline changes with each failover and each
//! recovery to a point in time.

use std::fmt;
use std::sync::atomic::Ordering;

use sea_orm::{DbBackend, FromQueryResult, Statement};

use super::{Result, Store, StoreError};

/// The cluster and the timeline of a primary server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseOrigin {
    system: String,
    timeline: String,
}

impl fmt::Display for DatabaseOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "timeline {} of the cluster {}", self.timeline.trim_start_matches('0'), self.system)
    }
}

#[derive(FromQueryResult)]
struct OriginRow {
    system: String,
    timeline: Option<String>,
}

impl Store {
    /// The origin of the database. `None` on `SQLite`, on a standby, and if the role may not read it.
    #[tracing::instrument(name = "db.origin.read", level = "debug", skip_all, err(level = "debug"))]
    pub async fn origin(&self) -> Result<Option<DatabaseOrigin>> {
        if self.backend() != DbBackend::Postgres || self.origin_is_hidden.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let sql = "SELECT system_identifier::text AS system, CASE WHEN pg_is_in_recovery() THEN NULL \
                   ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END AS timeline FROM pg_control_system()";
        let asked =
            OriginRow::find_by_statement(Statement::from_string(DbBackend::Postgres, sql)).one(self.read()).await;
        match asked.map_err(StoreError::from) {
            Ok(row) => Ok(row.and_then(|row| Some(DatabaseOrigin { system: row.system, timeline: row.timeline? }))),
            Err(error @ StoreError::Unavailable { .. }) => Err(error),
            Err(error) => {
                // The tags of revisions show lost transactions as well.
                tracing::debug!(%error, "PostgreSQL does not say which timeline it is on");
                self.origin_is_hidden.store(true, Ordering::Relaxed);
                Ok(None)
            }
        }
    }
}
