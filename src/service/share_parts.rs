//! The entitlements of a weight, as answers show them (FAIR_SHARE §11).

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::decimal::ComputedNumber;
use crate::engine::group::snapshots::entitlements::Entitlement;

/// The shares that a weight stands for, as parts from 0 to 1.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct ShareParts {
    /// The part of the whole group, by weight among all siblings of each tier.
    #[schema(value_type = String)]
    pub nominal_share: ComputedNumber,
    /// The part of the parent's share: for a domain of the group, for a project of its domain, for a user of the
    /// project.
    #[schema(value_type = String)]
    pub nominal_share_of_parent: ComputedNumber,
    /// The part of the whole group, by weight among those that used something in the look-back window, or that hold or
    /// ask for something
    /// now.
    #[schema(value_type = String)]
    pub entitled_share: ComputedNumber,
    /// The part of the parent's share, likewise.
    #[schema(value_type = String)]
    pub entitled_share_of_parent: ComputedNumber,
}

impl From<Entitlement> for ShareParts {
    fn from(of: Entitlement) -> Self {
        Self {
            nominal_share: ComputedNumber(of.nominal.of_group),
            nominal_share_of_parent: ComputedNumber(of.nominal.of_parent),
            entitled_share: ComputedNumber(of.entitled.of_group),
            entitled_share_of_parent: ComputedNumber(of.entitled.of_parent),
        }
    }
}
