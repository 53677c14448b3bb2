//! The guard of all statements: it refuses statements that could do harm, and notes refusals of the database in their
//! outcomes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sea_orm::DbErr;

use super::fault::TransientFault;
use super::files::DatabaseFiles;

/// A refused write is forgotten once others have succeeded, but not before this time, because on a full disk small writes
/// still succeed now and then.
const REFUSAL_MIN_TIME: Duration = Duration::from_secs(5);

/// The reason why the database does not accept writes now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteRefusal {
    pub fault: TransientFault,
    /// Details in addition to the fault, as a sentence.
    pub detail: Option<String>,
}

/// The guard of one store, shared by all its connections.
#[derive(Default)]
pub struct StatementGuard {
    /// The files of an `SQLite` database.
    files: Option<DatabaseFiles>,
    refused: Mutex<Vec<RefusedWrite>>,
    any_refused: AtomicBool,
}

/// The last write that was refused for a lasting fault.
struct RefusedWrite {
    fault: TransientFault,
    at: Instant,
    written_since: bool,
}

impl StatementGuard {
    pub fn of_files(files: DatabaseFiles) -> Self {
        Self { files: Some(files), ..Self::default() }
    }

    /// Refuses a statement while the files are not those that were opened, because a new connection would open the other
    /// files.
    pub fn admit(&self) -> Result<(), DbErr> {
        let replaced = self.files.as_ref().and_then(DatabaseFiles::replaced);
        replaced.map_or(Ok(()), |_| Err(TransientFault::Replaced.refusal()))
    }

    /// True if files that have been moved away can still be written without harm to other processes.
    pub fn may_save(&self) -> bool {
        self.files.as_ref().is_some_and(DatabaseFiles::are_locked)
    }

    /// Notes the fault, or the success, that the outcome of a statement or commit shows.
    pub fn note<T>(&self, outcome: &Result<T, DbErr>, writes: bool) {
        match outcome {
            Err(error) => {
                if let Some(fault @ (TransientFault::Full | TransientFault::ReadOnly)) = TransientFault::of(error) {
                    self.refuse(fault, error);
                }
            }
            Ok(_) if writes && self.any_refused.load(Ordering::Relaxed) => {
                for refused in self.refused().iter_mut() {
                    refused.written_since = true;
                }
            }
            Ok(_) => {}
        }
    }

    /// The driver's message goes to the log only; clients get the text of the fault.
    fn refuse(&self, fault: TransientFault, error: &DbErr) {
        let mut refused = self.refused();
        let before = refused.len();
        refused.retain(|known| known.fault != fault);
        if refused.len() == before {
            tracing::warn!(%error, "{fault}");
        }
        refused.push(RefusedWrite { fault, at: Instant::now(), written_since: false });
        self.any_refused.store(true, Ordering::Relaxed);
    }

    /// The reasons why writes are refused now; empty if they are not.
    pub fn write_refusals(&self) -> Vec<WriteRefusal> {
        let mut refused = self.refused();
        refused.retain(|refused| !(refused.written_since && refused.at.elapsed() >= REFUSAL_MIN_TIME));
        self.any_refused.store(!refused.is_empty(), Ordering::Relaxed);
        let lasting = refused.iter().map(|r| WriteRefusal { fault: r.fault, detail: None });
        let replaced = self.files.as_ref().and_then(DatabaseFiles::replaced);
        lasting
            .chain(replaced.map(|detail| WriteRefusal { fault: TransientFault::Replaced, detail: Some(detail) }))
            .collect()
    }

    fn refused(&self) -> MutexGuard<'_, Vec<RefusedWrite>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
