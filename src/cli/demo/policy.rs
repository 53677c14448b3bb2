//! The options and weights of the demo's groups, for the server and for the scheduler of the past.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::groups::GroupPlan;
use super::people::GPU_CLUSTER;
use crate::cli::import::amounts::{CPU, GPU, MEM};
use crate::domain::identity;
use crate::domain::ids::Owner;
use crate::domain::options::FairShareOptions;
use crate::domain::replay::policy::ReplayPolicy;
use crate::domain::sequencer::Sequencer;
use crate::domain::weight::Weight;

/// The options of a group. Runs are frequent, so that visitors see their effect within a minute. On the GPU cluster
/// accelerators count the most.
pub fn options(group: &GroupPlan) -> Map<String, Value> {
    let mut options = Map::from_iter([
        ("order".to_owned(), json!("tiered")),
        ("sequence_mode".to_owned(), json!("progressive")),
        ("slice_interval_seconds".to_owned(), json!(30)),
    ]);
    if group.name == GPU_CLUSTER {
        options.insert("resource_weights".to_owned(), json!({GPU: "1", CPU: "0.25", MEM: "0.1"}));
    }
    options
}

/// The weights of a group during its whole past.
pub fn weights(group: &GroupPlan) -> BTreeMap<Owner, Weight> {
    if group.name != GPU_CLUSTER {
        return BTreeMap::new();
    }
    let domain = |name: &str| Owner::Domain(Arc::from(name));
    let ten_thousandths = [
        (domain("research"), 20_000),
        (domain("education"), 5_000),
        (Owner::Project(identity::project("language")), 15_000),
    ];
    let weighed = ten_thousandths.into_iter();
    weighed.filter_map(|(owner, weight)| Some((owner, Weight::from_ten_thousandths(weight)?))).collect()
}

/// The policy by which a group's scheduler orders jobs; `None` if the options are not valid.
pub fn policy(group: &GroupPlan) -> Option<ReplayPolicy> {
    Some(ReplayPolicy {
        name: group.name.to_owned(),
        sequencer: Sequencer::by_name(group.scheduler)?,
        options: FairShareOptions::parse(&options(group)).ok()?,
        weights: weights(group),
    })
}
