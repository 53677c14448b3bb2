//! Notices that the database has gone back to an earlier state while this process was running, and reads everything
//! again.
//!
//! A failover to a standby that lacks the last transactions, a recovery to a point in time, and a restored dump all
//! remove acknowledged writes. The memory of this process then contains data that the database no longer has. Each
//! write compares the revisions that it uses, with their tags, under the lock of the group, so it stores nothing that
//! depends on lost rows (`store/revision.rs`). This module handles the rest: it collects the signs, clears what is kept
//! in memory without a revision of its own, and reports in the log and in `/readyz` that writes are lost, and from when
//! on.
//!
//! It does not find out which writes are lost, because no server knows what others have acknowledged. See "A database
//! that goes back" in `docs/OPERATIONS.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::health::HealthCondition;
use crate::domain::time::{MICROS_PER_DAY, Timestamp};
use crate::engine::FairShareEngine;
use crate::engine::error::Result;
use crate::engine::group::snapshots::GroupSnapshots;
use crate::engine::people::PeopleDirectory;
use crate::store;
use crate::store::groups::StoredRevisions;
use crate::store::origin::DatabaseOrigin;

/// The condition after the database has gone back.
const REWOUND_CODE: &str = "history_rewound";
/// How long the condition is shown, in microseconds. Nothing ends it earlier, so that an administrator sees it.
const SHOWN_MICROS: i64 = MICROS_PER_DAY;

/// The signs that were noticed since everything was last read.
#[derive(Debug, Default)]
pub struct RewindWatch(Mutex<RewindSigns>);

#[derive(Clone, Debug, Default)]
struct RewindSigns {
    /// The history that the database continued at the last read.
    origin: Option<DatabaseOrigin>,
    /// The origins before and after the database was found to continue another history.
    failover: Option<(DatabaseOrigin, DatabaseOrigin)>,
    /// The number of times that the directory of people was found to belong to a lost history.
    people_rewinds: u64,
    /// The parts of the database that have gone back, as messages name them.
    parts: BTreeSet<String>,
    /// The latest time before which no write is lost, as far as known.
    survived_until: Option<Timestamp>,
    /// The last time that the database was compared without finding a sign.
    agreed_at: Option<Timestamp>,
}

impl RewindSigns {
    fn are_there(&self) -> bool {
        self.failover.is_some() || !self.parts.is_empty()
    }

    /// Returns the signs, and keeps only the values that later ones are compared with.
    fn take(&mut self, people_rewinds: u64) -> Self {
        let kept = Self { origin: self.origin.clone(), people_rewinds, agreed_at: self.agreed_at, ..Self::default() };
        std::mem::replace(self, kept)
    }

    fn add(&mut self, part: String, survived_until: Option<Timestamp>) {
        self.parts.insert(part);
        // The earliest of the times is the safe one.
        self.survived_until = self.survived_until.into_iter().chain(survived_until).min();
    }
}

impl RewindWatch {
    fn signs(&self) -> MutexGuard<'_, RewindSigns> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a write found the group in an earlier state than before.
    pub fn note_group(&self, name: &str) {
        self.signs().add(group_part(name), None);
    }

    /// Notes that the last stored heartbeat of this process differs from the one that it has stored. `survived_until`
    /// is the time of the last one that is present.
    pub fn note_heartbeat(&self, survived_until: Timestamp) {
        self.signs().add("signs of life".to_owned(), Some(survived_until));
    }

    /// Notes that a known key is missing, or is no longer revoked, because no write does that.
    pub fn note_keys(&self) {
        self.signs().add("keys".to_owned(), None);
    }

    /// Compares the state before the database was read with the result.
    fn compare(
        &self,
        origin: Option<DatabaseOrigin>,
        people: &PeopleDirectory,
        known: &GroupSnapshots,
        stored: &BTreeMap<String, StoredRevisions>,
    ) {
        let mut signs = self.signs();
        if let Some(now) = origin {
            let before = signs.origin.replace(now.clone());
            if let Some(before) = before.filter(|before| *before != now) {
                signs.failover = Some((before, now));
            }
        }
        if people.rewinds() != signs.people_rewinds {
            signs.people_rewinds = people.rewinds();
            signs.add("people".to_owned(), None);
        }
        for (name, group) in known {
            let Some(now) = stored.get(&**name) else { continue };
            let seen = group.facts.revisions();
            if now.revisions.contradicts(&seen) {
                let went_back = now.revisions.kernels.number() < seen.kernels.number();
                signs.add(group_part(name), went_back.then_some(now.updated_at));
            }
        }
    }
}

fn group_part(name: &str) -> String {
    format!("resource group {name:?}")
}

impl FairShareEngine {
    /// Looks for signs that the database has gone back since `known` was published. Returns true if there are any.
    pub(crate) async fn notice_rewind(
        &self,
        known: &GroupSnapshots,
        stored: &BTreeMap<String, StoredRevisions>,
    ) -> Result<bool> {
        if self.health.since(REWOUND_CODE).is_some_and(|at| at.plus_micros(SHOWN_MICROS) < self.clock.now()) {
            self.health.end(REWOUND_CODE);
        }
        let asked_at = self.clock.now();
        let origin = self.store.origin().await?;
        self.rewinds.compare(origin, &self.people.read(), known, stored);
        let mut signs = self.rewinds.signs();
        if !signs.are_there() {
            signs.agreed_at = Some(asked_at);
        }
        Ok(signs.are_there())
    }

    /// Reads again everything that this process has in memory, after the database has gone back. Returns the number of
    /// groups. If it fails, the signs stay, and the next refresh starts again.
    #[tracing::instrument(
        name = "engine.upkeep.rewinds.read_all_again",
        level = "debug",
        skip_all,
        err(level = "debug")
    )]
    pub(crate) async fn read_all_again(&self) -> Result<u64> {
        // The database has all writes before the last heartbeat from the time when everything agreed, unless it lacks
        // that heartbeat itself.
        let agreed_at = self.rewinds.signs().agreed_at;
        let survived_until = agreed_at.and_then(|at| self.heartbeat_before(at));
        self.reread_own_run().await?;
        let db = self.store.read();
        self.store.forget_partitions();
        self.people.read_again(db).await?;
        self.refresh_keys().await?;
        self.previous_ranks.keep_only(|_| false);
        self.published.forget_closing();
        let mut names: BTreeSet<String> = store::groups::revisions(db).await?.into_keys().collect();
        names.extend(self.published.all().keys().map(ToString::to_string));
        for name in &names {
            let mut slot = self.slot(name).lock_owned().await;
            *slot = None;
            self.reload(db, name, &mut slot).await?;
        }
        self.forget_gone_groups();
        // Concurrent writes may have found more signs. All of them concern data that has been read again by now.
        let people_rewinds = self.people.read().rewinds();
        let signs = self.rewinds.signs().take(people_rewinds);
        self.report_rewind(&signs, survived_until);
        Ok(names.len() as u64)
    }

    fn report_rewind(&self, signs: &RewindSigns, survived_until: Option<Timestamp>) {
        let cause = signs.failover.as_ref().map(|(before, now)| format!("PostgreSQL went from {before} to {now}"));
        if signs.parts.is_empty() {
            let cause = cause.unwrap_or_default();
            tracing::warn!("{cause}; everything was read again, and no write was found to be lost");
            return;
        }
        let parts: Vec<&str> = signs.parts.iter().map(String::as_str).collect();
        let survived_until = signs.survived_until.into_iter().chain(survived_until).min();
        let from = survived_until.map_or_else(|| "lately".to_owned(), |at| format!("after {at}"));
        let cause = cause.map(|cause| format!("; {cause}")).unwrap_or_default();
        let detail = format!(
            "the database has gone back to an earlier state: what was written {from}, through any server, is lost, also \
             where it was acknowledged; everything was read again (noticed at: {}{cause})",
            parts.join(", ")
        );
        self.health.end(REWOUND_CODE);
        self.health.begin(HealthCondition { code: REWOUND_CODE, detail, refuses_writes: false }, self.clock.now());
    }
}
