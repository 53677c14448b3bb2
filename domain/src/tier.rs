//! The levels of the hierarchy.

use std::str::FromStr;

use serde::Deserialize;
use utoipa::ToSchema;

/// A level of the hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    Domain,
    Project,
    User,
}

impl Tier {
    /// From the top down.
    pub const ALL: [Self; 3] = [Self::Domain, Self::Project, Self::User];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Domain => "domain",
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

impl FromStr for Tier {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|tier| tier.as_str() == text).ok_or(())
    }
}
