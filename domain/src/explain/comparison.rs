//! The owners of a tier that are compared with each other, and the values that they are compared by.

use std::borrow::Cow;

use super::candidate_order::{CandidateOrder, OuterKeys};
use crate::factor::Exponent;
use crate::normalized_days::NormalizedDays;
use crate::weight::EffectiveWeight;

/// A domain, a project or a user in the comparison.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub normalized_days: NormalizedDays,
    pub weight: EffectiveWeight,
    /// The exponent of the last calculation.
    pub exponent: Exponent,
}

/// The owners that are compared. The number of an owner is its index in `entrants`.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    pub entrants: Vec<Candidate>,
    /// The projects and domains that users are compared by first; `None` if users are compared with each other at once.
    pub outer: Option<OuterCandidates>,
}

/// The projects and domains of users, for `order: tiered`.
#[derive(Clone, Debug, Default)]
pub struct OuterCandidates {
    /// The number of each user's project.
    pub within: Vec<u32>,
    pub projects: Vec<Candidate>,
    /// The number of each project's domain.
    pub domain_of: Vec<u32>,
    pub domains: Vec<Candidate>,
}

impl Comparison {
    /// The order by the exponents of the last calculation.
    pub fn now(&self) -> CandidateOrder<'_> {
        let keys = |entrants: &[Candidate]| entrants.iter().map(|entrant| entrant.exponent.sort_key()).collect();
        let outer = self.outer.as_ref().map(|outer| {
            let (projects, domains): (Vec<u64>, Vec<u64>) = (keys(&outer.projects), keys(&outer.domains));
            outer.keys(&projects, &domains)
        });
        CandidateOrder::new(Cow::Owned(keys(&self.entrants)), outer)
    }
}

impl OuterCandidates {
    pub fn keys(&self, projects: &[u64], domains: &[u64]) -> OuterKeys<'_> {
        let of = |(project, domain): (&u64, &u32)| [domains[*domain as usize], *project];
        OuterKeys {
            within: &self.within,
            domain_of: &self.domain_of,
            projects: projects.iter().zip(&self.domain_of).map(of).collect(),
        }
    }
}
