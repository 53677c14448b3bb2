//! Why an owner stands where it stands, and what would change that (FAIR_SHARE §12). Every figure is the one that runs and
//! sequencers calculate with, so that a reader who redoes the calculation from what is shown comes to the same digits.

pub mod contest;
pub mod count;
pub mod future;
pub mod line_up;
pub mod outlook;
pub mod reach;
pub mod words;

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

/// A computed number in the shortest decimal text from which the same number is read again.
pub fn exact(value: f64) -> String {
    // Without the sign that a zero may have.
    format!("{}", value + 0.0)
}
