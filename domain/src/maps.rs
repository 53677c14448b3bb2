//! Maps for hot paths: the same input always meets the same order, and hashing costs little.

use hashbrown::{HashMap, HashSet};

/// A map that hashes fast. No answer may depend on its order.
pub type FastMap<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// A set that hashes fast. No answer may depend on its order.
pub type FastSet<T> = HashSet<T, foldhash::fast::FixedState>;
