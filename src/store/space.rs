//! Returns the space that removed rows leave in the file of an `SQLite` database to the system.

use std::iter;

use sea_orm::sqlx::{self, Executor};
use sea_orm::{ConnectionTrait, DbBackend, DbErr, RuntimeErr, Statement};

use super::{Result, Store};

/// The value of `PRAGMA auto_vacuum` with which the file shrinks on request.
const INCREMENTAL_VACUUM: i64 = 2;
/// Pages that are returned at once: about as many as the rows of one step of a purge need, or more.
const VACUUM_PAGES: u32 = 2_000;

impl Store {
    /// Frees the page caches of idle connections to an `SQLite` database.
    #[tracing::instrument(name = "db.space.give_back_memory", level = "debug", skip_all, err(level = "debug"))]
    pub async fn give_back_memory(&self) -> Result<()> {
        if self.backend() != DbBackend::Sqlite {
            return Ok(());
        }
        for connections in [self.read(), self.write()] {
            let pool = connections.pool();
            let pool = pool.get_sqlite_connection_pool();
            let mut idle: Vec<_> = iter::from_fn(|| pool.try_acquire()).collect();
            for connection in &mut idle {
                connection.execute("PRAGMA shrink_memory").await.map_err(database_error)?;
            }
        }
        Ok(())
    }

    /// Returns the free pages of the file to the system. Pages at its end are moved for this, in steps that keep no other
    /// writer waiting for long. The file itself shrinks when the log is written into it ([`Store::save_log`]).
    #[tracing::instrument(name = "db.space.give_back", level = "debug", skip_all, err(level = "debug"))]
    pub async fn give_back_space(&self) -> Result<()> {
        if self.backend() != DbBackend::Sqlite {
            return Ok(());
        }
        let mut left = i64::MAX;
        loop {
            // The pragma does one step for each row that is read.
            let shrink =
                Statement::from_string(DbBackend::Sqlite, format!("PRAGMA incremental_vacuum({VACUUM_PAGES})"));
            self.write().query_all_raw(shrink).await?;
            let free = self.pragma("freelist_count").await?.unwrap_or(0);
            // Other tasks may remove rows meanwhile; their pages are left to the next call.
            if free == 0 || free >= left {
                return Ok(());
            }
            left = free;
        }
    }

    /// The number that a pragma of `SQLite` returns.
    async fn pragma(&self, name: &str) -> Result<Option<i64>> {
        let asked = Statement::from_string(DbBackend::Sqlite, format!("PRAGMA {name}"));
        Ok(self.write().query_one_raw(asked).await?.map(|row| row.try_get_by_index(0)).transpose()?)
    }

    /// Rewrites the file if it was created by a version that did not let it shrink.
    pub(super) async fn let_shrink(&self) -> Result<()> {
        if self.backend() != DbBackend::Sqlite {
            return Ok(());
        }
        if self.pragma("auto_vacuum").await? == Some(INCREMENTAL_VACUUM) {
            return Ok(());
        }
        tracing::info!("the database file is rewritten, so that it can shrink later");
        self.write().execute_unprepared("PRAGMA auto_vacuum = INCREMENTAL").await?;
        self.write().execute_unprepared("VACUUM").await?;
        Ok(())
    }
}

fn database_error(error: sqlx::Error) -> DbErr {
    DbErr::Exec(RuntimeErr::SqlxError(error.into()))
}
