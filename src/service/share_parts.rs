//! What a weight stands for, as answers say it (FAIR_SHARE §11).

use serde::Serialize;
use utoipa::ToSchema;

use super::group::published::entitlements::Entitlement;
use crate::domain::decimal::f64_text;

/// What a weight stands for, as parts from 0 to 1.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ShareParts {
    /// Of the whole group, by weight among all siblings of each tier.
    pub nominal_share: String,
    /// Of what the parent has: of a domain the group, of a project its domain, of a user the project.
    pub nominal_share_of_parent: String,
    /// Of the whole group, by weight among those that used something in the look-back window, or that hold or ask for something
    /// now.
    pub entitled_share: String,
    /// Of what the parent has, likewise.
    pub entitled_share_of_parent: String,
}

impl From<Entitlement> for ShareParts {
    fn from(of: Entitlement) -> Self {
        Self {
            nominal_share: f64_text(of.nominal.of_group),
            nominal_share_of_parent: f64_text(of.nominal.of_parent),
            entitled_share: f64_text(of.entitled.of_group),
            entitled_share_of_parent: f64_text(of.entitled.of_parent),
        }
    }
}
