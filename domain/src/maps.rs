//! Maps for hot paths. Hashing is fast, and the seed is fixed, so the same input always gives the same order.

use std::hash::Hash;

use hashbrown::{HashMap, HashSet};

/// A map with fast hashing. No answer may depend on its order.
pub type FastMap<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// A map whose copies cost little and share what neither side has changed since, as snapshots of a group and its state do. No
/// answer may depend on its order.
pub type SharedMap<K, V> = rpds::HashTrieMap<K, V, archery::ArcTK, foldhash::fast::FixedState>;

/// A set with fast hashing. No answer may depend on its order.
pub type FastSet<T> = HashSet<T, foldhash::fast::FixedState>;

/// The value of `key`. A key that is not there gets the default value.
pub fn get_or_default<'m, K: Hash + Eq + Clone, V: Clone + Default>(
    map: &'m mut SharedMap<K, V>,
    key: &K,
) -> &'m mut V {
    if !map.contains_key(key) {
        map.insert_mut(key.clone(), V::default());
    }
    map.get_mut(key).unwrap_or_else(|| unreachable!("the key is there"))
}
