//! All keys in memory, so that requests with a known key do not need the database.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::time::Instant;
use uuid::Uuid;

use crate::domain::time::{MICROS_PER_SECOND, Timestamp};
use crate::store::keys::StoredKey;

/// The precision with which `last_used_at` is stored, in microseconds.
const TOUCH_MICROS: i64 = 60 * MICROS_PER_SECOND;

/// A key, and its last use in this process.
#[derive(Debug)]
pub struct KnownKey {
    pub key: StoredKey,
    /// Microseconds since 1970, UTC; 0 for never.
    used_at: AtomicI64,
}

impl KnownKey {
    fn new(key: StoredKey, before: Option<&Self>) -> Arc<Self> {
        let stored = key.last_used_at.map_or(0, Timestamp::micros);
        let seen = before.map_or(0, |known| known.used_at.load(Ordering::Relaxed));
        Arc::new(Self { key, used_at: AtomicI64::new(stored.max(seen)) })
    }

    pub fn used(&self, now: Timestamp) {
        // Written once a second at most, because all processor cores share the entry.
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
pub struct KeySnapshot(Arc<KeyRows>);

impl KeySnapshot {
    /// True if a key is missing in a later read, or is no longer revoked there.
    pub fn is_contradicted_by(&self, rows: &[(String, StoredKey)]) -> bool {
        let later: HashMap<&str, &StoredKey> = rows.iter().map(|(hash, key)| (&**hash, key)).collect();
        self.0.by_hash.iter().any(|(hash, known)| {
            later.get(&**hash).is_none_or(|key| known.key.revoked_at.is_some() && key.revoked_at.is_none())
        })
    }
}

#[derive(Clone, Debug, Default)]
struct KeyRows {
    by_hash: HashMap<String, Arc<KnownKey>>,
    /// The time of the last read of all keys; `None` if there was none.
    read_at: Option<Instant>,
    /// Grows with every change by this process. A read that began before a change is discarded.
    changes: u64,
}

/// All keys by their hashes. A lookup never waits.
#[derive(Debug, Default)]
pub struct KeyTable(ArcSwap<KeyRows>);

impl KeyTable {
    pub fn get(&self, key_hash: &str) -> Option<Arc<KnownKey>> {
        self.0.load().by_hash.get(key_hash).cloned()
    }

    pub fn by_id(&self, id: Uuid) -> Option<Arc<KnownKey>> {
        self.0.load().by_hash.values().find(|known| known.key.id == id).cloned()
    }

    /// The number of changes, by which a read of the database notices changes that happened meanwhile.
    pub fn changes(&self) -> u64 {
        self.0.load().changes
    }

    /// The time since the last read of all keys; `None` if there was none.
    pub fn age(&self) -> Option<Duration> {
        self.0.load().read_at.map(|at| at.elapsed())
    }

    /// The keys that are known now.
    pub fn snapshot(&self) -> KeySnapshot {
        KeySnapshot(self.0.load_full())
    }

    /// Replaces all keys by what was read, unless this process has changed a key since `changes`.
    pub fn replace(&self, rows: &[(String, StoredKey)], changes: u64) {
        self.0.rcu(|old| {
            if old.changes != changes {
                return Arc::clone(old);
            }
            let known = |(hash, key): &(String, StoredKey)| {
                (hash.clone(), KnownKey::new(key.clone(), old.by_hash.get(hash).map(|k| &**k)))
            };
            Arc::new(KeyRows { by_hash: rows.iter().map(known).collect(), read_at: Some(Instant::now()), changes })
        });
    }

    /// Adds a key that was read, unless this process has changed a key since `changes`.
    pub fn learn(&self, key_hash: &str, key: &StoredKey, changes: u64) -> Arc<KnownKey> {
        let known = KnownKey::new(key.clone(), None);
        self.change(|table| {
            if table.changes == changes {
                table.by_hash.insert(key_hash.to_owned(), Arc::clone(&known));
            }
        });
        known
    }

    /// Adds a key that this process has created.
    pub fn created(&self, key_hash: &str, key: &StoredKey) {
        let known = KnownKey::new(key.clone(), None);
        self.change(|table| {
            table.by_hash.insert(key_hash.to_owned(), Arc::clone(&known));
            table.changes += 1;
        });
    }

    /// Notes that this process has revoked a key.
    pub fn revoked(&self, id: Uuid, at: Timestamp) {
        self.change(|table| {
            for known in table.by_hash.values_mut().filter(|known| known.key.id == id) {
                *known = KnownKey::new(StoredKey { revoked_at: Some(at), ..known.key.clone() }, Some(known));
            }
            table.changes += 1;
        });
    }

    fn change(&self, change: impl Fn(&mut KeyRows)) {
        self.0.rcu(|old| {
            let mut table = KeyRows::clone(old);
            change(&mut table);
            table
        });
    }

    /// Uses of keys that are more than a minute newer than what is stored.
    pub fn unstored_uses(&self) -> Vec<(Uuid, Timestamp)> {
        let table = self.0.load();
        let newer = |known: &Arc<KnownKey>| {
            let used = known.last_used_at()?;
            let stored = known.key.last_used_at.map_or(i64::MIN, Timestamp::micros);
            (used.micros().saturating_sub(stored) > TOUCH_MICROS).then_some((known.key.id, used))
        };
        table.by_hash.values().filter_map(newer).collect()
    }

    /// The last use of each key, as far as this process knows.
    pub fn last_uses(&self) -> HashMap<Uuid, Timestamp> {
        let table = self.0.load();
        table.by_hash.values().filter_map(|known| Some((known.key.id, known.last_used_at()?))).collect()
    }
}
