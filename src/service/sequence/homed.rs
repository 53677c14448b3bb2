//! The standings of a group, extended by the domains of projects that the group does not have yet.

use super::{DomainByProject, Known};
use crate::domain::factor::Exponent;
use crate::domain::ids::{Member, ProjectId, UserId};
use crate::domain::options::Order;
use crate::domain::sequencer::{ShareLookup, Workload};
use crate::domain::slots::Usages;
use crate::service::group::published::facts::GroupSnapshotData;

/// A new project has used nothing, but its domain may have.
pub(super) struct Homed<'a> {
    pub facts: &'a GroupSnapshotData,
    pub homes: &'a DomainByProject,
    /// The known standings of the owners of the workloads, one for each workload.
    pub known: &'a [Option<Known>],
}

impl ShareLookup for Homed<'_> {
    fn exponent(&self, member: Member) -> Exponent {
        self.facts.exponent(member)
    }

    fn exponents(&self, _: &[Workload]) -> Vec<Exponent> {
        self.known.iter().map(|known| known.map_or(Exponent::ZERO, |known| known.exponent)).collect()
    }

    fn outer_exponents(&self, project: ProjectId) -> (Exponent, Exponent) {
        match self.homes.get(&project) {
            None => self.facts.outer_exponents(project),
            Some(home) => {
                let domain = self.facts.rows.domain(home);
                (domain.map_or(Exponent::ZERO, |row| row.share.exponent), Exponent::ZERO)
            }
        }
    }

    fn dominant_share(&self, user: UserId) -> f64 {
        self.facts.dominant_share(user)
    }

    fn dominant_share_with(&self, user: UserId, more: &Usages) -> f64 {
        self.facts.dominant_share_with(user, more)
    }

    fn order(&self) -> Order {
        self.facts.order()
    }
}
