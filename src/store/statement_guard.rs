//! What every statement passes on its way to the database and back: it is refused where it could only do harm, and what
//! its outcome says of the database is noted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sea_orm::DbErr;

use super::fault::Fault;
use super::files::Files;

/// A refused write is forgotten when others have gone well, but not before this time: while a disk is full, small ones
/// still fit now and then.
const SETTLED: Duration = Duration::from_secs(5);

/// Why the database does not take writes now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteRefusal {
    pub fault: Fault,
    /// More than the fault says, in a sentence.
    pub detail: Option<String>,
}

/// One for each store; all its connections pass it.
#[derive(Default)]
pub struct StatementGuard {
    /// The files of an `SQLite` database.
    files: Option<Files>,
    refused: Mutex<Vec<Refused>>,
    any_refused: AtomicBool,
}

/// The last write that was refused for a fault that lasts.
struct Refused {
    fault: Fault,
    at: Instant,
    written_since: bool,
}

impl StatementGuard {
    pub fn of_files(files: Files) -> Self {
        Self { files: Some(files), ..Self::default() }
    }

    /// Refuses a statement while the files are not those that were opened: a connection made now would be to others.
    pub fn admit(&self) -> Result<(), DbErr> {
        let replaced = self.files.as_ref().and_then(Files::replaced);
        replaced.map_or(Ok(()), |_| Err(Fault::Replaced.refusal()))
    }

    /// Whether files that are no longer in their places can still be written without harm to others.
    pub fn may_save(&self) -> bool {
        self.files.as_ref().is_some_and(Files::are_locked)
    }

    /// Notes what the outcome of a statement, or of a commit, says of the database.
    pub fn note<T>(&self, outcome: &Result<T, DbErr>, writes: bool) {
        match outcome {
            Err(error) => {
                if let Some(fault @ (Fault::Full | Fault::ReadOnly)) = Fault::of(error) {
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

    /// What the driver says is for the log: clients read the other words.
    fn refuse(&self, fault: Fault, error: &DbErr) {
        let mut refused = self.refused();
        let before = refused.len();
        refused.retain(|known| known.fault != fault);
        if refused.len() == before {
            tracing::warn!(%error, "{fault}");
        }
        refused.push(Refused { fault, at: Instant::now(), written_since: false });
        self.any_refused.store(true, Ordering::Relaxed);
    }

    /// Why writes are refused now, if they are.
    pub fn troubles(&self) -> Vec<WriteRefusal> {
        let mut refused = self.refused();
        refused.retain(|refused| !(refused.written_since && refused.at.elapsed() >= SETTLED));
        self.any_refused.store(!refused.is_empty(), Ordering::Relaxed);
        let lasting = refused.iter().map(|r| WriteRefusal { fault: r.fault, detail: None });
        let replaced = self.files.as_ref().and_then(Files::replaced);
        lasting.chain(replaced.map(|detail| WriteRefusal { fault: Fault::Replaced, detail: Some(detail) })).collect()
    }

    fn refused(&self) -> MutexGuard<'_, Vec<Refused>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
