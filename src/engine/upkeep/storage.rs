//! Reports conditions under which the database takes no writes, as far as the store knows them.

use super::health::HealthCondition;
use crate::engine::FairShareEngine;
use crate::engine::error::code_of;
use crate::store::{Store, TransientFault};

/// The faults that prevent writes while reads continue.
const WRITE_FAULTS: [TransientFault; 3] = [TransientFault::Full, TransientFault::ReadOnly, TransientFault::Replaced];

impl FairShareEngine {
    /// Notes what the store knows. It looks at the database's files, but does not query the database.
    pub fn note_storage(&self) {
        let (now, troubles) = (self.clock.now(), self.store.write_refusals());
        for fault in WRITE_FAULTS {
            let code = code_of(fault);
            match troubles.iter().find(|trouble| trouble.fault == fault) {
                Some(trouble) => {
                    // The log may be the file that is missing, and the process may end next.
                    if fault == TransientFault::Replaced && !self.health.holds(code) {
                        self.begin_saving_log();
                    }
                    let more = trouble.detail.as_ref().map(|more| format!(": {more}"));
                    let detail = format!("{fault}{}", more.unwrap_or_default());
                    self.health.begin(HealthCondition { code, detail, refuses_writes: true }, now);
                }
                None => self.health.end(code),
            }
        }
    }

    /// Starts to copy the log of an `SQLite` database into its file, while others continue to write.
    pub(crate) fn begin_saving_log(&self) {
        let store = self.store.clone();
        tokio::spawn(async move { save_log(&store).await });
    }

    /// Copies the log of an `SQLite` database into its file.
    pub async fn save_log(&self) {
        save_log(&self.store).await;
    }

    /// Shrinks an `SQLite` file by all free space, while others continue to write. Its end moves when the log is copied
    /// into it.
    pub async fn shrink_file(&self) {
        if let Err(error) = self.store.give_back_space().await {
            tracing::warn!(%error, "free space stays in the file of the database for now");
        }
        self.save_log().await;
    }
}

async fn save_log(store: &Store) {
    if let Err(error) = store.save_log().await {
        tracing::warn!(%error, "the log of the database was not written into its file");
    }
}
