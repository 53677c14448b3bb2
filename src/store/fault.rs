//! What an error of the database means: whether a later try may work, and why this one did not. The drivers' codes
//! decide, never the words of a message.

use std::sync::Arc;
use std::{fmt, io};

use sea_orm::{ConnAcquireErr, DbErr, RuntimeErr, sqlx};
use sqlx::postgres::PgDatabaseError;
use sqlx::sqlite::SqliteError;

/// A fault that a later try may not meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The database does not answer, or the connection to it broke.
    Unreachable,
    /// The database answers, and does not let the service in: a wrong password, no such database.
    Closed,
    /// The database answers, and cannot do this now: a lock, a deadlock, too many connections.
    Busy,
    /// What is written does not fit: the disk is full, or a limit is reached.
    Full,
    /// The database is there to be read only.
    ReadOnly,
    /// The files of the database are not those that were opened.
    Replaced,
}

impl fmt::Display for Fault {
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

/// The fault as an error of its own, where a statement is refused before it reaches the driver.
impl std::error::Error for Fault {}

impl Fault {
    /// `None`: a later try fails as well.
    pub fn of(error: &DbErr) -> Option<Self> {
        match error {
            // All connections are in use, or none could be made in time: the pool does not say which.
            DbErr::ConnectionAcquire(ConnAcquireErr::Timeout) => Some(Self::Busy),
            // It may be mended while the service runs, however long that takes.
            DbErr::Conn(RuntimeErr::SqlxError(error)) => Some(of_driver(error).unwrap_or(Self::Closed)),
            DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed) | DbErr::Conn(RuntimeErr::Internal(_)) => {
                Some(Self::Unreachable)
            }
            DbErr::Exec(RuntimeErr::SqlxError(error)) | DbErr::Query(RuntimeErr::SqlxError(error)) => of_driver(error),
            _ => None,
        }
    }

    /// `SQLite`'s extended result codes (sqlite.org/rescode.html); the low byte is the primary code.
    pub fn of_sqlite(code: i32) -> Option<Self> {
        const COMMIT_HOOK: i32 = 531;
        const READONLY_DBMOVED: i32 = 1032;
        // WRITE, FSYNC, DIR_FSYNC, TRUNCATE and SHMSIZE: what cannot be written for lack of space, or beyond a limit.
        const IOERR_WRITES: [i32; 5] = [778, 1034, 1290, 1546, 4874];
        match (code, code & 0xff) {
            // The only hook there is refuses to commit into files that were replaced.
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
            // In a transaction that is read only: a standby, or a server that was set so.
            "25006" => Some(Self::ReadOnly),
            // Query cancelled, lock not available, object in use.
            "57014" | "55P03" | "55006" => Some(Self::Busy),
            // The session waited too long inside its transaction, and was ended.
            "25P03" => Some(Self::Unreachable),
            _ => match code.get(..2) {
                // Insufficient resources; the transaction was rolled back (serialization, deadlock).
                Some("53" | "40") => Some(Self::Busy),
                // Connection exceptions; intervention of an operator; errors of the server's system.
                Some("08" | "57" | "58") => Some(Self::Unreachable),
                _ => None,
            },
        }
    }

    /// The error of a statement that is refused for this fault.
    pub fn refusal(self) -> DbErr {
        DbErr::Conn(RuntimeErr::SqlxError(Arc::new(sqlx::Error::Io(io::Error::other(self)))))
    }
}

fn of_driver(error: &sqlx::Error) -> Option<Fault> {
    match error {
        sqlx::Error::Database(error) => {
            let code = error.code()?;
            if error.try_downcast_ref::<SqliteError>().is_some() {
                Fault::of_sqlite(code.parse().ok()?)
            } else {
                error.try_downcast_ref::<PgDatabaseError>().and_then(|_| Fault::of_sqlstate(&code))
            }
        }
        sqlx::Error::Io(error) => Some(of_io(error)),
        sqlx::Error::PoolTimedOut => Some(Fault::Busy),
        // A message that broke off, or came on a connection that is out of step; the connection is given up.
        sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::BeginFailed
        | sqlx::Error::InvalidSavePointStatement => Some(Fault::Unreachable),
        _ => None,
    }
}

fn of_io(error: &io::Error) -> Fault {
    let refusal = error.get_ref().and_then(|inner| inner.downcast_ref::<Fault>());
    match (refusal, error.kind()) {
        (Some(fault), _) => *fault,
        (_, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge) => Fault::Full,
        (_, io::ErrorKind::ReadOnlyFilesystem) => Fault::ReadOnly,
        _ => Fault::Unreachable,
    }
}
