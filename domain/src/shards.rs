//! A map in shards: a copy takes little time, and shares every shard with the original that neither has changed since.

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::iter;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::hash_table::Entry;
use hashbrown::{Equivalent, HashTable};

/// Entries of a shard, on average, above which there are more shards. A change copies one shard.
const FULL: usize = 256;
const GROWTH: usize = 4;

/// No answer may depend on the order of the entries.
#[derive(Clone)]
pub struct Shards<K, V> {
    /// A power of two.
    shards: Vec<Arc<HashTable<(K, V)>>>,
    len: usize,
}

impl<K, V> Default for Shards<K, V> {
    fn default() -> Self {
        Self { shards: vec![Arc::default()], len: 0 }
    }
}

fn hash(key: &(impl Hash + ?Sized)) -> u64 {
    FixedState::default().hash_one(key)
}

impl<K, V> Shards<K, V> {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.shards.iter().flat_map(|shard| shard.iter()).map(|(key, value)| (key, value))
    }

    fn place(&self, hash: u64) -> usize {
        // The tables use the other bits.
        usize::try_from(hash >> 32).unwrap_or(0) & (self.shards.len() - 1)
    }

    pub fn get<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<&V> {
        let hash = hash(key);
        self.shards[self.place(hash)].find(hash, |(known, _)| key.equivalent(known)).map(|(_, value)| value)
    }

    pub fn contains_key<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> bool {
        self.get(key).is_some()
    }
}

impl<K: Hash + Eq + Clone, V: Clone> Shards<K, V> {
    /// Without entries. As many can come as `count` before there are more shards.
    pub fn with_room_for(count: usize) -> Self {
        // A power of two, as growth would make it.
        let shards = (count / FULL + 1).next_power_of_two();
        let one = || Arc::new(HashTable::with_capacity(count / shards));
        Self { shards: iter::repeat_with(one).take(shards).collect(), len: 0 }
    }

    pub fn get_mut<Q: Hash + Equivalent<K> + ?Sized>(&mut self, key: &Q) -> Option<&mut V> {
        // A shard without the key is not copied.
        self.get(key)?;
        let hash = hash(key);
        let place = self.place(hash);
        let shard = Arc::make_mut(&mut self.shards[place]);
        shard.find_mut(hash, |(known, _)| key.equivalent(known)).map(|(_, value)| value)
    }

    /// The value of `key`; where there is none, that of the entry that `make` makes of it.
    pub fn get_or_insert_with<Q: Hash + Equivalent<K> + ?Sized>(
        &mut self,
        key: &Q,
        make: impl FnOnce() -> (K, V),
    ) -> &mut V {
        self.make_room();
        let of_key = hash(key);
        let place = self.place(of_key);
        let shard = Arc::make_mut(&mut self.shards[place]);
        let entry = shard.entry(of_key, |(known, _)| key.equivalent(known), |(known, _)| hash(known));
        let entry = match entry {
            Entry::Occupied(entry) => entry,
            Entry::Vacant(free) => {
                self.len += 1;
                free.insert(make())
            }
        };
        &mut entry.into_mut().1
    }

    pub fn insert(&mut self, key: K, value: V) {
        self.make_room();
        let of_key = hash(&key);
        let place = self.place(of_key);
        let shard = Arc::make_mut(&mut self.shards[place]);
        match shard.entry(of_key, |(known, _)| *known == key, |(known, _)| hash(known)) {
            Entry::Occupied(mut entry) => entry.get_mut().1 = value,
            Entry::Vacant(free) => {
                free.insert((key, value));
                self.len += 1;
            }
        }
    }

    pub fn remove<Q: Hash + Equivalent<K> + ?Sized>(&mut self, key: &Q) -> Option<V> {
        self.get(key)?;
        let hash = hash(key);
        let place = self.place(hash);
        let shard = Arc::make_mut(&mut self.shards[place]);
        let (entry, _) = shard.find_entry(hash, |(known, _)| key.equivalent(known)).ok()?.remove();
        self.len -= 1;
        Some(entry.1)
    }

    fn make_room(&mut self) {
        if self.len < FULL * self.shards.len() {
            return;
        }
        let count = self.shards.len() * GROWTH;
        let full = std::mem::replace(&mut self.shards, vec![Arc::default(); count]);
        for (key, value) in full.into_iter().flat_map(Arc::unwrap_or_clone) {
            let of_key = hash(&key);
            let place = self.place(of_key);
            let shard = Arc::make_mut(&mut self.shards[place]);
            shard.insert_unique(of_key, (key, value), |(known, _)| hash(known));
        }
    }
}

impl<K: Hash + Eq + Clone, V: Clone> FromIterator<(K, V)> for Shards<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let entries = entries.into_iter();
        let mut shards = Self::with_room_for(entries.size_hint().0);
        entries.for_each(|(key, value)| shards.insert(key, value));
        shards
    }
}

impl<K: Hash + Eq, V: PartialEq> PartialEq for Shards<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().all(|(key, value)| other.get(key) == Some(value))
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Shards<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
