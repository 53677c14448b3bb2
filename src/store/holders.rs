//! The processes that run jobs on a database, and the detection of those that have died.
//!
//! On `SQLite` a process holds a lock on a file of its own beside the database. The system releases the lock however the
//! process ends, so a process that obtains it knows that the other one is dead. A process number would prove nothing,
//! because it is 1 in every container. On `PostgreSQL` a process stores a heartbeat every two seconds. The database's own
//! clock measures the time since then, because the clocks of two machines differ.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict, SimpleExpr};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, EntityTrait, PaginatorTrait, QueryFilter, QuerySelect, Statement,
};
use uuid::Uuid;

use super::Result;
use super::entity::job_holder::{ActiveModel, Column, Entity};
use crate::domain::time::Timestamp;
use crate::process::random;

/// The interval of heartbeats.
pub const BEAT_EVERY: Duration = Duration::from_secs(2);
/// A process without a heartbeat for this time counts as dead, in microseconds.
const SILENCE_MICROS: i64 = 6_000_000;

/// The database's clock, in microseconds since 1970 (UTC).
const DATABASE_TIME: &str = "(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint";

/// The name under which `PostgreSQL` shows the sessions of this process, without the number after it.
const SESSION_NAME: &str = "left(split_part(current_setting('application_name'), '/', 1), 64)";

/// The SQL that ends the sessions in which a dead process has an open transaction that waits for its client, because the
/// transaction holds locks. The sessions of a process that was only slow are busy or were used since.
fn end_silent_sessions() -> String {
    format!(
        "SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a \
         JOIN job_holders h ON split_part(a.application_name, '/', 1) = h.session_name \
         WHERE a.datname = current_database() AND a.xact_start IS NOT NULL AND a.wait_event_type = 'Client' \
         AND a.state_change < clock_timestamp() - interval '{SILENCE_MICROS} microseconds' \
         AND h.beat_at < {DATABASE_TIME} - {SILENCE_MICROS}"
    )
}

/// The registration of this process among those that run jobs. It ends when the value is dropped.
#[derive(Debug)]
pub struct JobHolder {
    pub id: Uuid,
    label: String,
    started_at: Timestamp,
    /// The database file, beside which the other processes have their files.
    database: Option<PathBuf>,
    _mark: Option<LockedMark>,
}

impl JobHolder {
    /// Registers this process, and removes those that have died.
    #[tracing::instrument(name = "db.holders.join", level = "debug", skip_all, err(level = "debug"))]
    pub async fn join(db: &impl ConnectionTrait, label: String, now: Timestamp) -> Result<Self> {
        let id = random::id();
        let database = database_file(db).await?;
        let mark = database.as_deref().map(|file| LockedMark::set(file, id)).transpose();
        let failed = |e: io::Error| io::Error::new(e.kind(), format!("no lock beside the database: {e}"));
        let holder = Self { id, label, started_at: now, database, _mark: mark.map_err(failed)? };
        holder.beat(db).await?;
        holder.end_silent_sessions(db).await?;
        holder.forget_the_gone(db).await?;
        Ok(holder)
    }

    /// Stores a heartbeat.
    #[tracing::instrument(name = "db.holders.beat", level = "debug", skip_all, err(level = "debug"))]
    pub async fn beat(&self, db: &impl ConnectionTrait) -> Result<()> {
        let row = ActiveModel {
            id: Set(self.id),
            label: Set(self.label.clone()),
            started_at: Set(self.started_at.micros()),
            beat_at: Set(None),
            session_name: Set(None),
        };
        let mut again = OnConflict::column(Column::Id);
        again.update_column(Column::Label);
        Entity::insert(row).on_conflict(again).exec_without_returning(db).await?;
        if db.get_database_backend() == DbBackend::Postgres {
            let now = Entity::update_many()
                .col_expr(Column::BeatAt, Expr::cust(DATABASE_TIME))
                .col_expr(Column::SessionName, Expr::cust(SESSION_NAME));
            now.filter(Column::Id.eq(self.id)).exec(db).await?;
        }
        Ok(())
    }

    /// Ends the transactions of dead processes, so that their locks are released. Returns their number. Without this,
    /// `PostgreSQL` itself would end them after a minute (`store/postgres.rs`).
    #[tracing::instrument(name = "db.holders.end_silent_sessions", level = "debug", skip_all, err(level = "debug"))]
    pub async fn end_silent_sessions(&self, db: &impl ConnectionTrait) -> Result<usize> {
        if db.get_database_backend() != DbBackend::Postgres {
            return Ok(0);
        }
        let end = Statement::from_string(DbBackend::Postgres, end_silent_sessions());
        Ok(db.query_all_raw(end).await?.len())
    }

    /// True if that process is dead.
    #[tracing::instrument(name = "db.holders.is_gone", level = "debug", skip_all, err(level = "debug"))]
    pub async fn is_gone(&self, db: &impl ConnectionTrait, id: Uuid) -> Result<bool> {
        Ok(!self.gone(db, &[id]).await?.is_empty())
    }

    /// The processes among `ids` that are dead.
    #[tracing::instrument(name = "db.holders.gone", level = "debug", skip_all, err(level = "debug"))]
    pub async fn gone(&self, db: &impl ConnectionTrait, ids: &[Uuid]) -> Result<BTreeSet<Uuid>> {
        let others = ids.iter().copied().filter(|id| *id != self.id);
        if db.get_database_backend() == DbBackend::Sqlite {
            // A database in memory belongs to one process.
            let lives = |id: &Uuid| {
                self.database.as_deref().is_some_and(|file| LockedMark::is_held(&LockedMark::path(file, *id)))
            };
            return Ok(others.filter(|id| !lives(id)).collect());
        }
        let living: Vec<Uuid> = Entity::find()
            .select_only()
            .column(Column::Id)
            .filter(Column::Id.is_in(ids.iter().copied()))
            .filter(heard_of())
            .into_tuple()
            .all(db)
            .await?;
        Ok(others.filter(|id| !living.contains(id)).collect())
    }

    async fn forget_the_gone(&self, db: &impl ConnectionTrait) -> Result<()> {
        let known: Vec<Uuid> = Entity::find().select_only().column(Column::Id).into_tuple().all(db).await?;
        let gone = self.gone(db, &known).await?;
        Entity::delete_many().filter(Column::Id.is_in(gone)).exec(db).await?;
        Ok(())
    }

    /// Removes the registration at once, because the process ends.
    #[tracing::instrument(name = "db.holders.leave", level = "debug", skip_all, err(level = "debug"))]
    pub async fn leave(&self, db: &impl ConnectionTrait) -> Result<()> {
        Entity::delete_by_id(self.id).exec(db).await?;
        Ok(())
    }
}

/// The name of a process in messages.
#[tracing::instrument(name = "db.holders.label", level = "debug", skip_all, err(level = "debug"))]
pub async fn label(db: &impl ConnectionTrait, id: Uuid) -> Result<Option<String>> {
    Ok(Entity::find_by_id(id).one(db).await?.map(|row| row.label))
}

/// The number of living processes that run jobs.
#[tracing::instrument(name = "db.holders.living", level = "debug", skip_all, err(level = "debug"))]
pub async fn count_living(db: &impl ConnectionTrait) -> Result<u64> {
    if db.get_database_backend() == DbBackend::Sqlite {
        let marks = database_file(db).await?.map(|file| marks_of_processes(&file)).unwrap_or_default();
        return Ok(marks.iter().filter(|mark| LockedMark::is_held(mark)).count() as u64);
    }
    Ok(Entity::find().filter(heard_of()).count(db).await?)
}

/// True in SQL if the last heartbeat of a process is recent enough; on `PostgreSQL`.
fn heard_of() -> SimpleExpr {
    Expr::col(Column::BeatAt).gte(Expr::cust(format!("{DATABASE_TIME} - {SILENCE_MICROS}")))
}

/// The file of an `SQLite` database; `None` for one in memory, or for another database.
async fn database_file(db: &impl ConnectionTrait) -> Result<Option<PathBuf>> {
    if db.get_database_backend() != DbBackend::Sqlite {
        return Ok(None);
    }
    let sql = "SELECT file FROM pragma_database_list WHERE name = 'main'";
    let row = db.query_one_raw(Statement::from_string(DbBackend::Sqlite, sql)).await?;
    let file: Option<String> = row.map(|row| row.try_get("", "file")).transpose()?.flatten();
    Ok(file.filter(|f| !f.is_empty()).map(PathBuf::from))
}

/// The locked file of a living process.
#[derive(Debug)]
struct LockedMark {
    path: PathBuf,
    _lock: File,
}

impl LockedMark {
    fn path(database: &Path, id: Uuid) -> PathBuf {
        join_with_compute(database, &id.to_string())
    }

    /// Creates and locks the file of a process, and removes those of dead processes.
    fn set(database: &Path, id: Uuid) -> io::Result<Self> {
        let path = Self::path(database, id);
        let lock = loop {
            let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path)?;
            file.lock()?;
            // Another process may have removed the file, as that of a dead process, before it was locked.
            if fs::metadata(&path).is_ok_and(|there| file.metadata().is_ok_and(|own| own.ino() == there.ino())) {
                break file;
            }
        };
        for neighbour in marks_of_processes(database).into_iter().filter(|n| *n != path) {
            Self::is_held(&neighbour);
        }
        Ok(Self { path, _lock: lock })
    }

    /// True if a process holds the file. A file that no process holds is removed.
    fn is_held(path: &Path) -> bool {
        match OpenOptions::new().write(true).open(path) {
            Ok(file) => match file.try_lock() {
                Ok(()) => {
                    let _ = fs::remove_file(path);
                    false
                }
                Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
            },
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }
}

impl Drop for LockedMark {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn join_with_compute(database: &Path, name: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(".holder-");
    path.push(name);
    path.into()
}

/// The marks of all processes on the database.
fn marks_of_processes(database: &Path) -> Vec<PathBuf> {
    let prefix = join_with_compute(database, "");
    let (Some(folder), Some(prefix)) = (prefix.parent(), prefix.file_name()) else { return Vec::new() };
    let is_mark = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(prefix.as_encoded_bytes());
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    found.filter(|entry| is_mark(&entry.file_name())).map(|entry| entry.path()).collect()
}
