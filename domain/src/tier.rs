//! The tiers of the hierarchy.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A tier of the hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    Domain,
    Project,
    User,
}

impl Tier {
    /// All tiers from the top down.
    pub const ALL: [Self; 3] = [Self::Domain, Self::Project, Self::User];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Domain => "domain",
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

/// A text that names no tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is none of domain, project, user")]
pub struct UnknownTier;

impl FromStr for Tier {
    type Err = UnknownTier;

    fn from_str(text: &str) -> Result<Self, UnknownTier> {
        Self::ALL.into_iter().find(|tier| tier.as_str() == text).ok_or(UnknownTier)
    }
}
