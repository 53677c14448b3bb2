//! The facts of a resource group that weights depend on, as connectors read them.

use domain::weight::Weight;
use serde::Deserialize;

/// The part of a resource group that a connector reads.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct GroupFacts {
    /// Moves with every change of weights and people.
    pub config_revision: String,
    pub scheduler_opts: GroupWeightOptions,
}

/// The options of a group that weights depend on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct GroupWeightOptions {
    /// The weight of those who have none of their own.
    pub default_weight: Weight,
}
