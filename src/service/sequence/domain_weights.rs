//! The standings of a group, extended by the domains of projects that the group does not have yet.

use super::{DomainByProject, KnownOwner};
use crate::domain::factor::Exponent;
use crate::domain::ids::{Member, ProjectId, UserId};
use crate::domain::options::FairshareOrder;
use crate::domain::sequencer::{SequenceWorkload, ShareLookup};
use crate::domain::slots::SlotUsages;
use crate::engine::group::snapshots::snapshot_data::GroupSnapshotData;

/// A new project has used nothing, but its domain may have.
pub(super) struct DomainWeights<'a> {
    pub facts: &'a GroupSnapshotData,
    pub domain_assignments: &'a DomainByProject,
    /// The known standings of the owners of the workloads, one for each workload.
    pub known: &'a [Option<KnownOwner>],
}

impl ShareLookup for DomainWeights<'_> {
    fn exponent(&self, member: Member) -> Exponent {
        self.facts.exponent(member)
    }

    fn exponents(&self, _: &[SequenceWorkload]) -> Vec<Exponent> {
        self.known.iter().map(|known| known.map_or(Exponent::ZERO, |known| known.exponent)).collect()
    }

    fn outer_exponents(&self, project: ProjectId) -> (Exponent, Exponent) {
        match self.domain_assignments.get(&project) {
            None => self.facts.outer_exponents(project),
            Some(assigned_domain) => {
                let domain = self.facts.rows.domain(assigned_domain);
                (domain.map_or(Exponent::ZERO, |row| row.share.exponent), Exponent::ZERO)
            }
        }
    }

    fn dominant_share(&self, user: UserId) -> f64 {
        self.facts.dominant_share(user)
    }

    fn dominant_share_with(&self, user: UserId, more: &SlotUsages) -> f64 {
        self.facts.dominant_share_with(user, more)
    }

    fn order(&self) -> FairshareOrder {
        self.facts.order()
    }
}
