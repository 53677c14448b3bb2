//! The meaning of database errors: whether a later attempt may succeed, and why this one did not. The drivers' codes decide,
//! never the text of a message.

use std::sync::Arc;
use std::{fmt, io};

use sea_orm::{ConnAcquireErr, DbErr, RuntimeErr, sqlx};
use sqlx::postgres::PgDatabaseError;
use sqlx::sqlite::SqliteError;

/// A fault that may be gone at a later attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TransientFault {
    /// The database does not answer, or the connection to it broke.
    Unreachable,
    /// The database answers and refuses the connection: a wrong password, or no such database.
    Closed,
    /// The database answers and cannot execute this now: a lock, a deadlock, or too many connections.
    Busy,
    /// No space for the write: the disk is full, or a limit is reached.
    Full,
    /// The database is read only.
    ReadOnly,
    /// The files of the database are not those that were opened.
    Replaced,
}

impl fmt::Display for TransientFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreachable => "the database is out of reach",
            Self::Closed => "the database does not let the service in",
            Self::Busy => "the database is busy",
            Self::Full => "the database has no space to write",
            Self::ReadOnly => "the database takes no writes",
            Self::Replaced => "the database's files are not those that were opened",
        })
    }
}

/// The fault as an error of its own, for statements that are refused before they reach the driver.
impl std::error::Error for TransientFault {}

impl TransientFault {
    /// `None`: a later attempt fails as well.
    pub fn of(error: &DbErr) -> Option<Self> {
        match error {
            // All connections are in use, or none could be opened in time; the pool does not distinguish the two.
            DbErr::ConnectionAcquire(ConnAcquireErr::Timeout) => Some(Self::Busy),
            // The cause may be repaired while the service runs, at any later time.
            DbErr::Conn(RuntimeErr::SqlxError(error)) => Some(Self::of_driver(error).unwrap_or(Self::Closed)),
            DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed) | DbErr::Conn(RuntimeErr::Internal(_)) => {
                Some(Self::Unreachable)
            }
            DbErr::Exec(RuntimeErr::SqlxError(error)) | DbErr::Query(RuntimeErr::SqlxError(error)) => {
                Self::of_driver(error)
            }
            _ => None,
        }
    }

    /// `SQLite`'s extended result codes (sqlite.org/rescode.html); the low byte is the primary code.
    pub fn of_sqlite(code: i32) -> Option<Self> {
        const COMMIT_HOOK: i32 = 531;
        const READONLY_DBMOVED: i32 = 1032;
        // WRITE, FSYNC, DIR_FSYNC, TRUNCATE and SHMSIZE: failed writes for lack of space, or beyond a limit.
        const IOERR_WRITES: [i32; 5] = [778, 1034, 1290, 1546, 4874];
        match (code, code & 0xff) {
            // The only commit hook refuses to commit into files that were replaced.
            (COMMIT_HOOK | READONLY_DBMOVED, _) => Some(Self::Replaced),
            (_, 13) => Some(Self::Full),
            (code, 10) if IOERR_WRITES.contains(&code) => Some(Self::Full),
            // IOERR and CANTOPEN.
            (_, 10 | 14) => Some(Self::Unreachable),
            // BUSY, LOCKED, NOMEM, INTERRUPT, PROTOCOL (the locks of the log) and SCHEMA.
            (_, 5 | 6 | 7 | 9 | 15 | 17) => Some(Self::Busy),
            (_, 8) => Some(Self::ReadOnly),
            _ => None,
        }
    }

    /// PostgreSQL's SQLSTATE (appendix A of its manual); the first two characters are the class.
    pub fn of_sqlstate(code: &str) -> Option<Self> {
        match code {
            // Disk full.
            "53100" => Some(Self::Full),
            // In a read-only transaction: on a standby, or on a server that is set so.
            "25006" => Some(Self::ReadOnly),
            // Query cancelled, lock not available, object in use.
            "57014" | "55P03" | "55006" => Some(Self::Busy),
            // The session was idle in its transaction for too long, and the server ended it.
            "25P03" => Some(Self::Unreachable),
            _ => match code.get(..2) {
                // Insufficient resources; the transaction was rolled back (serialization, deadlock).
                Some("53" | "40") => Some(Self::Busy),
                // Connection exceptions; operator intervention; system errors of the server.
                Some("08" | "57" | "58") => Some(Self::Unreachable),
                _ => None,
            },
        }
    }

    /// The fault of an error of the driver; `None` as for [`TransientFault::of`].
    pub(super) fn of_driver(error: &sqlx::Error) -> Option<Self> {
        match error {
            sqlx::Error::Database(error) => {
                let code = error.code()?;
                if error.try_downcast_ref::<SqliteError>().is_some() {
                    Self::of_sqlite(code.parse().ok()?)
                } else {
                    error.try_downcast_ref::<PgDatabaseError>().and_then(|_| Self::of_sqlstate(&code))
                }
            }
            sqlx::Error::Io(error) => Some(of_io(error)),
            sqlx::Error::PoolTimedOut => Some(Self::Busy),
            // A message that broke off, or a protocol error; the connection is given up.
            sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::BeginFailed
            | sqlx::Error::InvalidSavePointStatement => Some(Self::Unreachable),
            _ => None,
        }
    }

    /// The error of a statement that is refused for this fault.
    pub fn refusal(self) -> DbErr {
        DbErr::Conn(RuntimeErr::SqlxError(Arc::new(sqlx::Error::Io(io::Error::other(self)))))
    }
}

fn of_io(error: &io::Error) -> TransientFault {
    let refusal = error.get_ref().and_then(|inner| inner.downcast_ref::<TransientFault>());
    match (refusal, error.kind()) {
        (Some(fault), _) => *fault,
        (_, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge) => {
            TransientFault::Full
        }
        (_, io::ErrorKind::ReadOnlyFilesystem) => TransientFault::ReadOnly,
        _ => TransientFault::Unreachable,
    }
}
