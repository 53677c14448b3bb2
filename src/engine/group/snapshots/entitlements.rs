//! The shares that weights give to every domain, project and user of a snapshot (FAIR_SHARE §11).

use std::sync::Arc;

use super::rows::{DomainShare, ProjectShare, UserShare};
use super::snapshot_data::GroupSnapshotData;
use crate::domain::fairness::{EntityTree, FairnessEntity, TierShares};
use crate::domain::hierarchy::Share;
use crate::domain::ids::{Member, Owner, ProjectId};
use crate::domain::maps::FastMap;

/// A part of the group's capacity, and of the parent's share in the hierarchy; 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EntitledPart {
    pub of_group: f64,
    pub of_parent: f64,
}

/// The shares that the weight of a domain, project or user stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Entitlement {
    /// The share among all siblings.
    pub nominal: EntitledPart,
    /// The share among the active siblings.
    pub entitled: EntitledPart,
}

/// The entitlements of one snapshot, with its rows by their index in the tree.
#[derive(Debug)]
pub struct SnapshotEntitlements {
    pub tree: EntityTree,
    pub domains: Vec<Arc<DomainShare>>,
    pub projects: Vec<Arc<ProjectShare>>,
    pub users: Vec<Arc<UserShare>>,
    domain_at: FastMap<Arc<str>, usize>,
    project_at: FastMap<ProjectId, usize>,
    user_at: FastMap<Member, usize>,
    nominal: Vec<TierShares>,
    entitled: Vec<TierShares>,
}

impl SnapshotEntitlements {
    pub fn of(facts: &GroupSnapshotData) -> Self {
        let rows = &facts.rows;
        let domains: Vec<_> = rows.domains.iter().cloned().collect();
        let projects: Vec<_> = rows.projects().cloned().collect();
        let users: Vec<_> = rows.users.iter().cloned().collect();
        let domain_at: FastMap<_, _> =
            (0..).zip(&domains).map(|(at, row)| (Arc::clone(&row.domain_name), at)).collect();
        let project_at: FastMap<_, _> = (0..).zip(&projects).map(|(at, row)| (row.project_id, at)).collect();
        let user_at = (0..).zip(&users).map(|(at, row)| (row.member, at)).collect();
        let entity = |parent: Option<&usize>, share: &Share| {
            FairnessEntity::new(parent.copied().unwrap_or(usize::MAX), facts.weight(share))
        };
        let tree = EntityTree::new([
            domains.iter().map(|row| entity(None, &row.share)).collect(),
            projects.iter().map(|row| entity(domain_at.get(&row.domain_name), &row.share)).collect(),
            users.iter().map(|row| entity(project_at.get(&row.member.project), &row.share)).collect(),
        ]);
        let active: Vec<bool> = users.iter().map(|row| facts.is_active(row)).collect();
        let (nominal, entitled) = (tree.nominal(), tree.entitled(&active));
        Self { tree, domains, projects, users, domain_at, project_at, user_at, nominal, entitled }
    }

    /// The entitlement of an owner; zero if the group has no row of it.
    pub fn entitlement(&self, owner: &Owner) -> Entitlement {
        let place = match owner {
            Owner::Domain(name) => self.domain_at.get(name).map(|at| (0, *at)),
            Owner::Project(id) => self.project_at.get(id).map(|at| (1, *at)),
            Owner::User(member) => self.user_at.get(member).map(|at| (2, *at)),
        };
        let Some((tier, at)) = place else { return Entitlement::default() };
        let part = |shares: &[TierShares]| EntitledPart {
            of_group: shares[tier].of_group[at],
            of_parent: shares[tier].of_parent[at],
        };
        Entitlement { nominal: part(&self.nominal), entitled: part(&self.entitled) }
    }
}

impl GroupSnapshotData {
    /// True if the user used something in the look-back window, or holds or asks for something now.
    fn is_active(&self, row: &UserShare) -> bool {
        let history = &row.share.history;
        let used = history.normalized_usage > 0.0 || !history.total_decayed_usage.is_empty();
        used || self.holds(row.member) || self.waits(row.member)
    }

    /// True if kernels of the user run, or have ended and are not recorded to their ends.
    pub fn holds(&self, member: Member) -> bool {
        self.outstanding.holds(member)
    }

    /// True if kernels of the user wait to be started.
    pub fn waits(&self, member: Member) -> bool {
        self.asking.waits(member)
    }
}
