//! The weights of LocalQueues, from the weights of their owners on the server.
//!
//! Kueue compares the LocalQueues of one `ClusterQueue` by their usage over their weight, and knows no level above them. The server has
//! levels: a domain has its part of the whole, a project its part of the domain, a user its part of the project. A queue therefore gets
//! the part of its owner among the owners that have a queue there, and not the product of the weights: with products, a domain with more
//! projects would get more than its weight says.
//!
//! Parts are multiplied by the number of queues, so that the mean weight is 1. Owners of equal weights then have 1, which is Kueue's own
//! default, and nothing is written.

use std::collections::BTreeMap;

use domain::quantity;
use domain::weight::Weight;

use crate::group_weights::GroupWeights;
use crate::kueue::owners::{QueueDirectory, QueueOwner, orders_by_usage};

/// The units of a weight of 1. A weight has six decimals.
pub const WEIGHT_UNITS: i64 = 1_000_000;
/// The whole that is divided. It is so fine that the rounding of three levels is not seen in six decimals, and its product with a weight
/// or with a number of queues fits in 128 bits.
const WHOLE: u128 = 10u128.pow(24);

/// The LocalQueues of each owner of one `ClusterQueue`, by domain, project and user.
type QueuesByOwner<'q> = BTreeMap<&'q str, BTreeMap<&'q str, BTreeMap<Option<&'q str>, Vec<&'q String>>>>;

/// Divides a part among siblings by weight.
fn divide<T>(part: u128, siblings: impl Iterator<Item = (Weight, T)>) -> impl Iterator<Item = (u128, T)> {
    let units = |weight: Weight| u128::from(weight.ten_thousandths().unsigned_abs());
    let siblings: Vec<(Weight, T)> = siblings.collect();
    let sum: u128 = siblings.iter().map(|(weight, _)| units(*weight)).sum();
    siblings.into_iter().map(move |(weight, sibling)| (part * units(weight) / sum.max(1), sibling))
}

/// The weights of the LocalQueues of one `ClusterQueue`, in units of 1/1,000,000, at least one unit. Kueue takes a weight of 0 for an
/// infinite usage, so that the queue would come last for ever.
pub fn divide_weights(queues: &BTreeMap<String, QueueOwner>, group: &GroupWeights) -> BTreeMap<String, i64> {
    let mut owners = QueuesByOwner::new();
    for (key, QueueOwner { domain, project, user }) in queues {
        // A project is in the domain in which the server has it.
        let domain = group.domain_of(project).unwrap_or(domain);
        let users = owners.entry(domain).or_default().entry(project).or_default();
        users.entry(user.as_deref()).or_default().push(key);
    }
    let count = queues.len() as u128;
    let mut weights = BTreeMap::new();
    let domains = owners.into_iter().map(|(domain, projects)| (group.domain_weight(domain), projects));
    for (part, projects) in divide(WHOLE, domains) {
        let projects = projects.into_iter().map(|(project, users)| (group.project_weight(project), (project, users)));
        for (part, (project, users)) in divide(part, projects) {
            let users = users.into_iter().map(|(user, keys)| (group.user_weight(project, user), keys));
            for (part, keys) in divide(part, users) {
                // An owner with two queues has no more than one with a single queue.
                let part = part * count / keys.len() as u128;
                let units = (part * u128::from(WEIGHT_UNITS.unsigned_abs()) + WHOLE / 2) / WHOLE;
                let units = i64::try_from(units).unwrap_or(i64::MAX).max(1);
                weights.extend(keys.into_iter().map(|key| (key.clone(), units)));
            }
        }
    }
    weights
}

/// The weights of all LocalQueues whose `ClusterQueue` is ordered by their usage. Elsewhere Kueue does not look at weights.
pub fn wanted_weights(directory: QueueDirectory<'_>, group: &GroupWeights) -> BTreeMap<String, i64> {
    let mut groups: BTreeMap<&str, BTreeMap<String, QueueOwner>> = BTreeMap::new();
    for (key, queue) in directory.local_queues {
        let name = &*queue.spec.cluster_queue;
        let is_ordered = directory.cluster_queues.get(name).is_some_and(orders_by_usage);
        if is_ordered && queue.metadata.deletion_timestamp.is_none() {
            groups.entry(name).or_default().insert(key.clone(), directory.owner_of_queue(queue));
        }
    }
    groups.values().flat_map(|queues| divide_weights(queues, group)).collect()
}

/// A weight as a plain decimal.
pub fn weight_text(units: i64) -> String {
    plain_text(&format!("{units}u"))
}

/// A quantity as a plain decimal, so that `0.5` and `500m` are equal. One that is no amount, such as a negative one, stays as it is.
pub fn plain_text(quantity: &str) -> String {
    quantity::parse(quantity).map_or_else(|_| quantity.to_owned(), |amount| amount.to_string())
}
