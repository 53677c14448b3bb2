//! Domain -> project -> user with weights, factors and ranks (FAIR_SHARE §7).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::factor::{Exponent, History, competition_ranks, fair_share_factor};
use super::ids::{Member, Owner, ProjectId};
use super::maps::FastMap;
use super::weight::{EffectiveWeight, Weight};

/// The share of one domain, project or user: what an admin set and what follows from its history.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// `None`: the group's `default_weight`.
    pub weight: Option<Weight>,
    pub history: Arc<History>,
    pub effective_weight: EffectiveWeight,
    pub fair_share_factor: f64,
    pub exponent: Exponent,
    /// From 1; 0 outside of the ranking of a group.
    pub rank: u32,
}

impl Share {
    pub fn new(weight: Option<Weight>, history: History) -> Self {
        Self {
            weight,
            history: Arc::new(history),
            effective_weight: EffectiveWeight::single(Weight::ONE),
            fair_share_factor: 1.0,
            exponent: Exponent::ZERO,
            rank: 0,
        }
    }

    /// The place in the group's ranking; `None` for an owner that is known but not in the group.
    pub fn place(&self) -> Option<u32> {
        (self.rank > 0).then_some(self.rank)
    }

    fn weigh(&mut self, effective_weight: EffectiveWeight) {
        let used = self.history.normalized_usage;
        self.effective_weight = effective_weight;
        self.fair_share_factor = fair_share_factor(used, effective_weight);
        self.exponent = Exponent::new(used, effective_weight);
    }
}

/// Every known domain, project and user of one resource group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hierarchy {
    pub domains: BTreeMap<Arc<str>, Share>,
    /// With the domain that each project is in now.
    pub projects: BTreeMap<ProjectId, (Arc<str>, Share)>,
    pub users: BTreeMap<Member, Share>,
}

/// Members, projects and domains in rank order; equals by id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranking {
    pub domains: Vec<Arc<str>>,
    pub projects: Vec<ProjectId>,
    pub users: Vec<Member>,
}

impl Hierarchy {
    pub fn share(&self, owner: &Owner) -> Option<&Share> {
        match owner {
            Owner::Domain(name) => self.domains.get(name),
            Owner::Project(id) => self.projects.get(id).map(|(_, share)| share),
            Owner::User(member) => self.users.get(member),
        }
    }

    pub fn share_mut(&mut self, owner: &Owner) -> Option<&mut Share> {
        match owner {
            Owner::Domain(name) => self.domains.get_mut(name),
            Owner::Project(id) => self.projects.get_mut(id).map(|(_, share)| share),
            Owner::User(member) => self.users.get_mut(member),
        }
    }

    pub fn owners(&self) -> impl Iterator<Item = Owner> + '_ {
        let domains = self.domains.keys().map(|d| Owner::Domain(Arc::clone(d)));
        let projects = self.projects.keys().map(|p| Owner::Project(*p));
        domains.chain(projects).chain(self.users.keys().map(|m| Owner::User(*m)))
    }

    /// Recomputes effective weights, factors, exponents and ranks from weights and histories.
    pub fn recompute(&mut self, default_weight: Weight) -> Ranking {
        let own = |share: &Share| share.weight.unwrap_or(default_weight);
        for share in self.domains.values_mut() {
            share.weigh(EffectiveWeight::single(own(share)));
        }
        let mut outer: FastMap<ProjectId, (Weight, Weight)> = FastMap::default();
        for (id, (domain, share)) in &mut self.projects {
            let weight = own(share);
            share.weigh(EffectiveWeight::single(weight));
            let domain_weight = self.domains.get(domain).map_or(default_weight, own);
            outer.insert(*id, (domain_weight, weight));
        }
        for (member, share) in &mut self.users {
            let (domain, project) = outer.get(&member.project).copied().unwrap_or((default_weight, default_weight));
            share.weigh(EffectiveWeight::product(domain, project, own(share)));
        }
        self.rank()
    }

    fn rank(&mut self) -> Ranking {
        let domains = rank_tier(self.domains.iter_mut().map(|(name, share)| ((), Arc::clone(name), share)));
        let projects =
            rank_tier(self.projects.iter_mut().map(|(id, (domain, share))| (Arc::clone(domain), *id, share)));
        let users = rank_tier(self.users.iter_mut().map(|(member, share)| ((), *member, share)));
        Ranking { domains, projects, users }
    }
}

/// Ranks shares inside each scope, ascending by exponent; returns the ids in that order.
fn rank_tier<'a, S: Ord, I: Ord>(shares: impl Iterator<Item = (S, I, &'a mut Share)>) -> Vec<I> {
    let mut rows: Vec<(S, u64, I, &mut Share)> =
        shares.map(|(scope, id, share)| (scope, share.exponent.sort_key(), id, share)).collect();
    rows.sort_unstable_by(|a, b| (&a.0, a.1, &a.2).cmp(&(&b.0, b.1, &b.2)));
    for scope in rows.chunk_by_mut(|a, b| a.0 == b.0) {
        let ranks = competition_ranks(scope.iter().map(|(_, key, _, _)| *key));
        for ((_, _, _, share), rank) in scope.iter_mut().zip(ranks) {
            share.rank = rank;
        }
    }
    rows.into_iter().map(|(_, _, id, _)| id).collect()
}
