//! Maps for hot paths. Hashing is fast, and the seed is fixed, so the same input always gives the same order.

use hashbrown::{HashMap, HashSet};

/// A map with fast hashing. No answer may depend on its order.
pub type FastMap<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// A map whose copies cost little and share what neither side has changed since, as snapshots of a group and its state do. No
/// answer may depend on its order.
pub type SharedMap<K, V> = rpds::HashTrieMap<K, V, archery::ArcTK, foldhash::fast::FixedState>;

/// A set with fast hashing. No answer may depend on its order.
pub type FastSet<T> = HashSet<T, foldhash::fast::FixedState>;
