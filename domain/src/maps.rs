//! Maps for hot paths. Hashing is fast, and the seed is fixed, so the same input always gives the same order.

use hashbrown::{HashMap, HashSet};

/// A map with fast hashing. No answer may depend on its order.
pub type FastMap<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// A set with fast hashing. No answer may depend on its order.
pub type FastSet<T> = HashSet<T, foldhash::fast::FixedState>;
