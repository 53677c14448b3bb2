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
                of_sqlite(code.parse().ok()?)
            } else {
                error.try_downcast_ref::<PgDatabaseError>().and_then(|_| of_sqlstate(&code))
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

/// `SQLite`'s extended result codes (sqlite.org/rescode.html); the low byte is the primary code.
fn of_sqlite(code: i32) -> Option<Fault> {
    const COMMIT_HOOK: i32 = 531;
    const READONLY_DBMOVED: i32 = 1032;
    // WRITE, FSYNC, DIR_FSYNC, TRUNCATE and SHMSIZE: what cannot be written for lack of space, or beyond a limit.
    const IOERR_WRITES: [i32; 5] = [778, 1034, 1290, 1546, 4874];
    match (code, code & 0xff) {
        // The only hook there is refuses to commit into files that were replaced.
        (COMMIT_HOOK | READONLY_DBMOVED, _) => Some(Fault::Replaced),
        (_, 13) => Some(Fault::Full),
        (code, 10) if IOERR_WRITES.contains(&code) => Some(Fault::Full),
        // IOERR and CANTOPEN.
        (_, 10 | 14) => Some(Fault::Unreachable),
        // BUSY, LOCKED, NOMEM, INTERRUPT, PROTOCOL (the locks of the log) and SCHEMA.
        (_, 5 | 6 | 7 | 9 | 15 | 17) => Some(Fault::Busy),
        (_, 8) => Some(Fault::ReadOnly),
        _ => None,
    }
}

/// PostgreSQL's SQLSTATE (appendix A of its manual); the first two characters are the class.
fn of_sqlstate(code: &str) -> Option<Fault> {
    match code {
        // Disk full.
        "53100" => Some(Fault::Full),
        // In a transaction that is read only: a standby, or a server that was set so.
        "25006" => Some(Fault::ReadOnly),
        // Query cancelled, lock not available, object in use.
        "57014" | "55P03" | "55006" => Some(Fault::Busy),
        // The session waited too long inside its transaction, and was ended.
        "25P03" => Some(Fault::Unreachable),
        _ => match code.get(..2) {
            // Insufficient resources; the transaction was rolled back (serialization, deadlock).
            Some("53" | "40") => Some(Fault::Busy),
            // Connection exceptions; intervention of an operator; errors of the server's system.
            Some("08" | "57" | "58") => Some(Fault::Unreachable),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    fn queried(error: sqlx::Error) -> DbErr {
        DbErr::Query(RuntimeErr::SqlxError(Arc::new(error)))
    }

    #[test]
    fn codes_of_sqlite() {
        let table = [
            (Some(Fault::Busy), vec![5, 261, 517, 773, 6, 262, 518, 7, 9, 15, 17]),
            (Some(Fault::Full), vec![13, 778, 1034, 1290, 1546, 4874]),
            (Some(Fault::Unreachable), vec![10, 266, 522, 1802, 2314, 3338, 14, 270, 526, 1038]),
            (Some(Fault::ReadOnly), vec![8, 264, 520, 776, 1288, 1544]),
            (Some(Fault::Replaced), vec![531, 1032]),
            // Errors, constraints, a damaged file, a file of something else: no later try is better.
            (None, vec![1, 11, 19, 275, 787, 1299, 1555, 2067, 20, 21, 25, 26]),
        ];
        for (expected, codes) in table {
            for code in codes {
                assert_eq!(of_sqlite(code), expected, "{code}");
            }
        }
    }

    #[test]
    fn codes_of_postgres() {
        let table = [
            (Some(Fault::Unreachable), vec!["08000", "08001", "08003", "08006", "08P01", "57P01", "57P02", "57P03"]),
            (Some(Fault::Unreachable), vec!["57P05", "25P03", "58000", "58030"]),
            (
                Some(Fault::Busy),
                vec!["53000", "53200", "53300", "53400", "40001", "40003", "40P01", "55P03", "55006", "57014"],
            ),
            (Some(Fault::Full), vec!["53100"]),
            (Some(Fault::ReadOnly), vec!["25006"]),
            (None, vec!["22P02", "23505", "23503", "25P02", "42601", "42P01", "XX001", ""]),
        ];
        for (expected, codes) in table {
            for code in codes {
                assert_eq!(of_sqlstate(code), expected, "{code}");
            }
        }
    }

    #[test]
    fn errors_of_the_connection() {
        let io = |kind: ErrorKind| queried(sqlx::Error::Io(kind.into()));
        let table = [
            (Some(Fault::Unreachable), io(ErrorKind::UnexpectedEof)),
            (Some(Fault::Unreachable), io(ErrorKind::BrokenPipe)),
            (Some(Fault::Unreachable), io(ErrorKind::ConnectionReset)),
            (Some(Fault::Unreachable), io(ErrorKind::ConnectionRefused)),
            (Some(Fault::Unreachable), io(ErrorKind::TimedOut)),
            (Some(Fault::Full), io(ErrorKind::StorageFull)),
            (Some(Fault::Full), io(ErrorKind::FileTooLarge)),
            (Some(Fault::ReadOnly), io(ErrorKind::ReadOnlyFilesystem)),
            (Some(Fault::Unreachable), queried(sqlx::Error::Protocol("expected a message".to_owned()))),
            (Some(Fault::Unreachable), queried(sqlx::Error::WorkerCrashed)),
            (Some(Fault::Unreachable), queried(sqlx::Error::PoolClosed)),
            (Some(Fault::Busy), queried(sqlx::Error::PoolTimedOut)),
            (Some(Fault::Busy), DbErr::ConnectionAcquire(ConnAcquireErr::Timeout)),
            (Some(Fault::Unreachable), DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed)),
            (Some(Fault::Unreachable), DbErr::Conn(RuntimeErr::Internal("disconnected".to_owned()))),
            (Some(Fault::Closed), DbErr::Conn(RuntimeErr::SqlxError(Arc::new(sqlx::Error::RowNotFound)))),
            (None, queried(sqlx::Error::RowNotFound)),
            (None, queried(sqlx::Error::ColumnNotFound("x".to_owned()))),
            (None, DbErr::RecordNotUpdated),
        ];
        for (expected, error) in table {
            assert_eq!(Fault::of(&error), expected, "{error:?}");
        }
    }

    #[test]
    fn a_refusal_tells_its_fault() {
        for fault in [Fault::Unreachable, Fault::Closed, Fault::Busy, Fault::Full, Fault::ReadOnly, Fault::Replaced] {
            assert_eq!(Fault::of(&fault.refusal()), Some(fault));
        }
    }
}
