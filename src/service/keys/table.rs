//! Every key in memory, so that a request with a known key is let in without asking the database.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::time::Instant;
use uuid::Uuid;

use crate::domain::time::{MICROS_PER_SECOND, Timestamp};
use crate::store::keys::ApiKey;

/// How precisely `last_used_at` is stored.
const TOUCH_MICROS: i64 = 60 * MICROS_PER_SECOND;

/// One key and when it was last used here.
#[derive(Debug)]
pub struct Known {
    pub key: ApiKey,
    /// Microseconds since 1970; 0: never.
    used_at: AtomicI64,
}

impl Known {
    fn new(key: ApiKey, before: Option<&Self>) -> Arc<Self> {
        let stored = key.last_used_at.map_or(0, Timestamp::micros);
        let seen = before.map_or(0, |known| known.used_at.load(Ordering::Relaxed));
        Arc::new(Self { key, used_at: AtomicI64::new(stored.max(seen)) })
    }

    pub fn used(&self, now: Timestamp) {
        // Cores that share the entry write it once a second.
        if now.micros() - self.used_at.load(Ordering::Relaxed) >= MICROS_PER_SECOND {
            self.used_at.store(now.micros(), Ordering::Relaxed);
        }
    }

    fn last_used_at(&self) -> Option<Timestamp> {
        let micros = self.used_at.load(Ordering::Relaxed);
        (micros > 0).then(|| Timestamp::from_micros(micros))
    }
}

/// The keys that were known at some moment.
#[derive(Debug)]
pub struct KeySnapshot(Arc<Table>);

impl KeySnapshot {
    /// True where a key is gone from what was read later, or is not revoked any more.
    pub fn is_contradicted_by(&self, rows: &[(String, ApiKey)]) -> bool {
        let later: HashMap<&str, &ApiKey> = rows.iter().map(|(hash, key)| (&**hash, key)).collect();
        self.0.by_hash.iter().any(|(hash, known)| {
            later.get(&**hash).is_none_or(|key| known.key.revoked_at.is_some() && key.revoked_at.is_none())
        })
    }
}

#[derive(Clone, Debug, Default)]
struct Table {
    by_hash: HashMap<String, Arc<Known>>,
    /// When all keys were read last; `None`: never.
    read_at: Option<Instant>,
    /// Grows with every change by this process: what was read before one is not believed after it.
    changes: u64,
}

/// All keys by their hashes. Looking one up never waits.
#[derive(Debug, Default)]
pub struct KeyTable(ArcSwap<Table>);

impl KeyTable {
    pub fn get(&self, key_hash: &str) -> Option<Arc<Known>> {
        self.0.load().by_hash.get(key_hash).cloned()
    }

    pub fn by_id(&self, id: Uuid) -> Option<Arc<Known>> {
        self.0.load().by_hash.values().find(|known| known.key.id == id).cloned()
    }

    /// What a read of the database is compared with when it comes back.
    pub fn changes(&self) -> u64 {
        self.0.load().changes
    }

    /// How long ago all keys were read; `None`: never.
    pub fn age(&self) -> Option<Duration> {
        self.0.load().read_at.map(|at| at.elapsed())
    }

    /// The keys that are known now.
    pub fn snapshot(&self) -> KeySnapshot {
        KeySnapshot(self.0.load_full())
    }

    /// Takes what was read of the whole table, unless this process has changed a key since `changes`.
    pub fn replace(&self, rows: &[(String, ApiKey)], changes: u64) {
        self.0.rcu(|old| {
            if old.changes != changes {
                return Arc::clone(old);
            }
            let known = |(hash, key): &(String, ApiKey)| {
                (hash.clone(), Known::new(key.clone(), old.by_hash.get(hash).map(|k| &**k)))
            };
            Arc::new(Table { by_hash: rows.iter().map(known).collect(), read_at: Some(Instant::now()), changes })
        });
    }

    /// Takes one key that was read, unless this process has changed a key since `changes`.
    pub fn learn(&self, key_hash: &str, key: &ApiKey, changes: u64) -> Arc<Known> {
        let known = Known::new(key.clone(), None);
        self.change(|table| {
            if table.changes == changes {
                table.by_hash.insert(key_hash.to_owned(), Arc::clone(&known));
            }
        });
        known
    }

    /// Takes a key that this process has created.
    pub fn created(&self, key_hash: &str, key: &ApiKey) {
        let known = Known::new(key.clone(), None);
        self.change(|table| {
            table.by_hash.insert(key_hash.to_owned(), Arc::clone(&known));
            table.changes += 1;
        });
    }

    /// Notes that this process has revoked a key.
    pub fn revoked(&self, id: Uuid, at: Timestamp) {
        self.change(|table| {
            for known in table.by_hash.values_mut().filter(|known| known.key.id == id) {
                *known = Known::new(ApiKey { revoked_at: Some(at), ..known.key.clone() }, Some(known));
            }
            table.changes += 1;
        });
    }

    fn change(&self, change: impl Fn(&mut Table)) {
        self.0.rcu(|old| {
            let mut table = Table::clone(old);
            change(&mut table);
            table
        });
    }

    /// The uses that are newer than what is stored by more than a minute.
    pub fn unstored_uses(&self) -> Vec<(Uuid, Timestamp)> {
        let table = self.0.load();
        let newer = |known: &Arc<Known>| {
            let used = known.last_used_at()?;
            let stored = known.key.last_used_at.map_or(i64::MIN, Timestamp::micros);
            (used.micros().saturating_sub(stored) > TOUCH_MICROS).then_some((known.key.id, used))
        };
        table.by_hash.values().filter_map(newer).collect()
    }

    /// When each key was last used, as far as this process knows.
    pub fn last_uses(&self) -> HashMap<Uuid, Timestamp> {
        let table = self.0.load();
        table.by_hash.values().filter_map(|known| Some((known.key.id, known.last_used_at()?))).collect()
    }
}
