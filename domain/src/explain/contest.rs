//! All who are compared with each other, and what they are compared by.

use std::borrow::Cow;

use super::line_up::{LineUp, OuterKeys};
use crate::factor::Exponent;
use crate::normalized_days::NormalizedDays;
use crate::weight::EffectiveWeight;

/// One who is compared: a domain, a project or a user.
#[derive(Clone, Debug)]
pub struct Entrant {
    pub normalized_days: NormalizedDays,
    pub weight: EffectiveWeight,
    /// As of the last calculation.
    pub exponent: Exponent,
}

/// Those who are compared, each by its number.
#[derive(Clone, Debug, Default)]
pub struct Contest {
    pub entrants: Vec<Entrant>,
    /// Whom users are compared by first; `None`: all are compared at once.
    pub outer: Option<Outer>,
}

/// The projects and domains of users who are compared by them.
#[derive(Clone, Debug, Default)]
pub struct Outer {
    /// The number of each user's project.
    pub within: Vec<u32>,
    pub projects: Vec<Entrant>,
    /// The number of each project's domain.
    pub domain_of: Vec<u32>,
    pub domains: Vec<Entrant>,
}

impl Contest {
    /// As of the last calculation.
    pub fn now(&self) -> LineUp<'_> {
        let keys = |entrants: &[Entrant]| entrants.iter().map(|entrant| entrant.exponent.sort_key()).collect();
        let outer = self.outer.as_ref().map(|outer| {
            let (projects, domains): (Vec<u64>, Vec<u64>) = (keys(&outer.projects), keys(&outer.domains));
            outer.keys(&projects, &domains)
        });
        LineUp::new(Cow::Owned(keys(&self.entrants)), outer)
    }
}

impl Outer {
    pub fn keys(&self, projects: &[u64], domains: &[u64]) -> OuterKeys<'_> {
        let of = |(project, domain): (&u64, &u32)| [domains[*domain as usize], *project];
        OuterKeys {
            within: &self.within,
            domain_of: &self.domain_of,
            projects: projects.iter().zip(&self.domain_of).map(of).collect(),
        }
    }
}
