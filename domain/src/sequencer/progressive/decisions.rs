//! Explains a progressive order: repeats it step by step and compares each workload with its predecessor.

use std::sync::Arc;

use super::super::SequenceWorkload;
use super::super::decision::{OrderDecision, OwnerReason, tie_reason};
use super::{UsageAccount, UsageAccounts, UsageCharge};
use crate::ids::{Member, ProjectId, UserId};
use crate::maps::FastMap;
use crate::options::FairshareOrder;
use crate::slots::SlotUsages;

/// The accounts that have been read, with what was charged to them.
struct ChargedAccounts<'a> {
    order: FairshareOrder,
    accounts: &'a dyn UsageAccounts,
    users: FastMap<Member, UsageAccount>,
    projects: FastMap<ProjectId, (Option<Arc<str>>, UsageAccount)>,
    domains: FastMap<Option<Arc<str>>, UsageAccount>,
}

impl ChargedAccounts<'_> {
    fn look(&mut self, owner: Member) {
        let accounts = self.accounts;
        self.users.entry(owner).or_insert_with(|| accounts.user(owner));
        if self.order == FairshareOrder::Tiered && !self.projects.contains_key(&owner.project) {
            let (name, domain) = accounts.domain(owner.project);
            self.domains.entry(name.clone()).or_insert(domain);
            self.projects.insert(owner.project, (name, accounts.project(owner.project)));
        }
    }

    /// The sort keys of the domain, the project and the user for the owner's next workload.
    fn keys(&mut self, owner: Member, next: UsageCharge) -> [u64; 3] {
        self.look(owner);
        let user = self.users.get(&owner).map_or(0, |account| account.key_before(next));
        let Some((name, project)) = self.projects.get(&owner.project) else { return [0, 0, user] };
        [self.domains.get(name).map_or(0, UsageAccount::key), project.key(), user]
    }

    fn charge(&mut self, owner: Member, charge: UsageCharge) {
        self.look(owner);
        if let Some(user) = self.users.get_mut(&owner) {
            user.charged += charge;
        }
        if let Some((name, project)) = self.projects.get_mut(&owner.project) {
            project.charged += charge;
            if let Some(domain) = self.domains.get_mut(name) {
                domain.charged += charge;
            }
        }
    }
}

/// The reason between two workloads of one owner.
fn decide_own_order(one: &SequenceWorkload, other: &SequenceWorkload) -> OrderDecision {
    if one.priority == other.priority { tie_reason(one, other) } else { OrderDecision::Priority }
}

/// The reasons of `placed`, a progressive order by usage. `charges` has the charge of each workload, and `reasons` those of the
/// three tiers.
pub fn decisions(
    reasons: [&'static OwnerReason; 3],
    order: FairshareOrder,
    workloads: &[SequenceWorkload],
    charges: &[UsageCharge],
    accounts: &dyn UsageAccounts,
    placed: &[u32],
) -> Vec<OrderDecision> {
    let (users, projects, domains) = Default::default();
    let mut charged = ChargedAccounts { order, accounts, users, projects, domains };
    step_by_step(placed, |before, next| {
        let (owner, other) = (workloads[before].owner, workloads[next].owner);
        let keys = (charged.keys(owner, charges[before]), charged.keys(other, charges[next]));
        charged.charge(owner, charges[before]);
        let differs = keys.0.iter().zip(keys.1).position(|(a, b)| *a != b);
        match differs {
            _ if owner == other => decide_own_order(&workloads[before], &workloads[next]),
            Some(tier) => OrderDecision::Owner(reasons[tier]),
            None => tie_reason(&workloads[before], &workloads[next]),
        }
    })
}

/// The reasons of `placed`, a progressive order by dominant share. `reason` is the one of different shares.
pub fn dominant_decisions(
    reason: &'static OwnerReason,
    workloads: &[SequenceWorkload],
    requests: &[SlotUsages],
    share: impl Fn(UserId, &SlotUsages) -> f64,
    placed: &[u32],
) -> Vec<OrderDecision> {
    let mut more: FastMap<UserId, SlotUsages> = FastMap::default();
    step_by_step(placed, |before, next| {
        let (user, other) = (workloads[before].owner.user, workloads[next].owner.user);
        let shares = (share(user, more.entry(user).or_default()), share(other, more.entry(other).or_default()));
        more.entry(user).or_default().add(&requests[before]);
        match shares {
            _ if user == other => decide_own_order(&workloads[before], &workloads[next]),
            (one, another) if one.to_bits() == another.to_bits() => tie_reason(&workloads[before], &workloads[next]),
            _ => OrderDecision::Owner(reason),
        }
    })
}

fn step_by_step(placed: &[u32], mut decide: impl FnMut(usize, usize) -> OrderDecision) -> Vec<OrderDecision> {
    let steps = placed.windows(2).map(|pair| decide(pair[0] as usize, pair[1] as usize));
    let mut decisions = Vec::with_capacity(placed.len());
    decisions.extend(placed.first().map(|_| OrderDecision::First));
    decisions.extend(steps);
    decisions
}
