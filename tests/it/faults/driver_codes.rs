//! The faults that the codes and errors of databases stand for.

use std::io::ErrorKind;
use std::sync::Arc;

use fairshared::store::TransientFault;
use sea_orm::{ConnAcquireErr, DbErr, RuntimeErr, sqlx};

fn queried(error: sqlx::Error) -> DbErr {
    DbErr::Query(RuntimeErr::SqlxError(Arc::new(error)))
}

#[test]
fn codes_of_sqlite() {
    let table = [
        (Some(TransientFault::Busy), vec![5, 261, 517, 773, 6, 262, 518, 7, 9, 15, 17]),
        (Some(TransientFault::Full), vec![13, 778, 1034, 1290, 1546, 4874]),
        (Some(TransientFault::Unreachable), vec![10, 266, 522, 1802, 2314, 3338, 14, 270, 526, 1038]),
        (Some(TransientFault::ReadOnly), vec![8, 264, 520, 776, 1288, 1544]),
        (Some(TransientFault::Replaced), vec![531, 1032]),
        // Errors, constraints, a damaged file, a file of something else: no later try is better.
        (None, vec![1, 11, 19, 275, 787, 1299, 1555, 2067, 20, 21, 25, 26]),
    ];
    for (expected, codes) in table {
        for code in codes {
            assert_eq!(TransientFault::of_sqlite(code), expected, "{code}");
        }
    }
}

#[test]
fn codes_of_postgres() {
    let table = [
        (
            Some(TransientFault::Unreachable),
            vec!["08000", "08001", "08003", "08006", "08P01", "57P01", "57P02", "57P03"],
        ),
        (Some(TransientFault::Unreachable), vec!["57P05", "25P03", "58000", "58030"]),
        (
            Some(TransientFault::Busy),
            vec!["53000", "53200", "53300", "53400", "40001", "40003", "40P01", "55P03", "55006", "57014"],
        ),
        (Some(TransientFault::Full), vec!["53100"]),
        (Some(TransientFault::ReadOnly), vec!["25006"]),
        (None, vec!["22P02", "23505", "23503", "25P02", "42601", "42P01", "XX001", ""]),
    ];
    for (expected, codes) in table {
        for code in codes {
            assert_eq!(TransientFault::of_sqlstate(code), expected, "{code}");
        }
    }
}

#[test]
fn errors_of_the_connection() {
    let io = |kind: ErrorKind| queried(sqlx::Error::Io(kind.into()));
    let table = [
        (Some(TransientFault::Unreachable), io(ErrorKind::UnexpectedEof)),
        (Some(TransientFault::Unreachable), io(ErrorKind::BrokenPipe)),
        (Some(TransientFault::Unreachable), io(ErrorKind::ConnectionReset)),
        (Some(TransientFault::Unreachable), io(ErrorKind::ConnectionRefused)),
        (Some(TransientFault::Unreachable), io(ErrorKind::TimedOut)),
        (Some(TransientFault::Full), io(ErrorKind::StorageFull)),
        (Some(TransientFault::Full), io(ErrorKind::FileTooLarge)),
        (Some(TransientFault::ReadOnly), io(ErrorKind::ReadOnlyFilesystem)),
        (Some(TransientFault::Unreachable), queried(sqlx::Error::Protocol("expected a message".to_owned()))),
        (Some(TransientFault::Unreachable), queried(sqlx::Error::WorkerCrashed)),
        (Some(TransientFault::Unreachable), queried(sqlx::Error::PoolClosed)),
        (Some(TransientFault::Busy), queried(sqlx::Error::PoolTimedOut)),
        (Some(TransientFault::Busy), DbErr::ConnectionAcquire(ConnAcquireErr::Timeout)),
        (Some(TransientFault::Unreachable), DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed)),
        (Some(TransientFault::Unreachable), DbErr::Conn(RuntimeErr::Internal("disconnected".to_owned()))),
        (Some(TransientFault::Closed), DbErr::Conn(RuntimeErr::SqlxError(Arc::new(sqlx::Error::RowNotFound)))),
        (None, queried(sqlx::Error::RowNotFound)),
        (None, queried(sqlx::Error::ColumnNotFound("x".to_owned()))),
        (None, DbErr::RecordNotUpdated),
    ];
    for (expected, error) in table {
        assert_eq!(TransientFault::of(&error), expected, "{error:?}");
    }
}

#[test]
fn a_refusal_tells_its_fault() {
    for fault in [
        TransientFault::Unreachable,
        TransientFault::Closed,
        TransientFault::Busy,
        TransientFault::Full,
        TransientFault::ReadOnly,
        TransientFault::Replaced,
    ] {
        assert_eq!(TransientFault::of(&fault.refusal()), Some(fault));
    }
}
