//! Whether the database takes writes: what the store knows of it becomes a condition of the service.

use super::health::Condition;
use crate::service::Service;
use crate::service::input::error::code_of;
use crate::store::{Fault, Store};

/// What keeps writes from being stored while reads go on.
const WATCHED: [Fault; 3] = [Fault::Full, Fault::ReadOnly, Fault::Replaced];

impl Service {
    /// Notes what the store knows; looks at the database's files, and asks the database nothing.
    pub fn note_storage(&self) {
        let (now, troubles) = (self.clock.now(), self.store.troubles());
        for fault in WATCHED {
            let code = code_of(fault);
            match troubles.iter().find(|trouble| trouble.fault == fault) {
                Some(trouble) => {
                    // The log may be the file that is gone, and the process may be next.
                    if fault == Fault::Replaced && !self.health.holds(code) {
                        self.save_log();
                    }
                    let more = trouble.detail.as_ref().map(|more| format!(": {more}"));
                    let detail = format!("{fault}{}", more.unwrap_or_default());
                    self.health.begin(Condition { code, detail, refuses_writes: true }, now);
                }
                None => self.health.end(code),
            }
        }
    }

    /// Writes the log of an `SQLite` database into its file, while others write on.
    pub(in crate::service) fn save_log(&self) {
        let store = self.store.clone();
        tokio::spawn(async move { log_saved(&store).await });
    }

    /// Makes an `SQLite` file smaller by all free space, while others write on: its end moves when the log is written into it.
    pub async fn shrink_file(&self) {
        if let Err(error) = self.store.give_back_space().await {
            tracing::warn!(%error, "free space stays in the file of the database for now");
        }
        log_saved(&self.store).await;
    }
}

async fn log_saved(store: &Store) {
    if let Err(error) = store.save_log().await {
        tracing::warn!(%error, "the log of the database was not written into its file");
    }
}
