//! The places of owners in an order of the server, filled with the jobs of each owner in the scheduler's own order.
//!
//! Only the turns of the owners are the server's. Among the jobs of one owner a plain sequence goes by their submission and then by their
//! ids as texts, where 10 comes before 9, and reads no priority. What a user or the scheduler says about these jobs would be lost.

use std::collections::{BTreeMap, VecDeque};

/// The jobs at the places of an order. `places` has the owner of each place, and `jobs` has all jobs that may start, each with its owner,
/// in the scheduler's own order. A place whose owner has no job left is left out.
pub fn fill_owner_places<K: Ord, J>(
    places: impl IntoIterator<Item = K>,
    jobs: impl IntoIterator<Item = (K, J)>,
) -> Vec<J> {
    let mut waiting: BTreeMap<K, VecDeque<J>> = BTreeMap::new();
    for (owner, job) in jobs {
        waiting.entry(owner).or_default().push_back(job);
    }
    places.into_iter().filter_map(|owner| waiting.get_mut(&owner)?.pop_front()).collect()
}
