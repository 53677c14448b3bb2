//! The order by tiers, with heaps: users below their project, projects below their domain. The top of each heap comes
//! next.

use std::cmp::Reverse;
use std::sync::Arc;

use super::charge::{UsageAccount, UsageCharge};
use super::heap::{KeyHeap, update_top};
use super::lists::{ListedWorkload, OwnerLists, to_number};
use super::{UsageAccounts, WorkloadTurn};
use crate::ids::{Member, ProjectId};
use crate::maps::FastMap;

/// The sort key of the user (usage / weight), and the age of its next workload.
type UserKey = (u64, u32);
/// The keys of what is below decide between equal projects, and between equal domains.
type ProjectKey = (u64, UserKey);
type DomainKey = (u64, ProjectKey);

struct AccountTier<K> {
    account: UsageAccount,
    below: KeyHeap<K>,
}

impl<K: Ord + Copy> AccountTier<K> {
    fn new(account: UsageAccount) -> Self {
        Self { account, below: KeyHeap::new() }
    }

    /// The key of the tier; `None` if nothing waits below.
    fn key(&self) -> Option<(u64, K)> {
        let Reverse((first, _)) = self.below.peek()?;
        Some((self.account.key(), *first))
    }
}

/// The first `most` of the workloads in `lists`.
pub fn order(lists: OwnerLists<Member, UsageCharge>, accounts: &dyn UsageAccounts, most: usize) -> Vec<WorkloadTurn> {
    let mut turns = Vec::with_capacity(lists.len().min(most));
    let mut tiers = AccountTiers::new(lists, accounts);
    turns.extend(std::iter::from_fn(|| tiers.next_turn()).take(most));
    turns
}

struct AccountTiers {
    lists: OwnerLists<Member, UsageCharge>,
    users: Vec<UsageAccount>,
    projects: Vec<AccountTier<UserKey>>,
    domains: Vec<AccountTier<ProjectKey>>,
    top: KeyHeap<DomainKey>,
}

impl AccountTiers {
    fn new(lists: OwnerLists<Member, UsageCharge>, accounts: &dyn UsageAccounts) -> Self {
        let users = lists.owners.iter().map(|member| accounts.user(*member)).collect();
        let mut tiers = Self { lists, users, projects: Vec::new(), domains: Vec::new(), top: KeyHeap::new() };
        let domain_assignments = tiers.domain_assignments(accounts);
        for (user, (project, _)) in (0..).zip(&domain_assignments) {
            if let Some(key) = tiers.user_key(user) {
                tiers.projects[*project as usize].below.push(Reverse((key, user)));
            }
        }
        let mut domain_of = vec![0; tiers.projects.len()];
        for (project, domain) in domain_assignments {
            domain_of[project as usize] = domain;
        }
        for (project, domain) in (0..).zip(domain_of) {
            if let Some(key) = tiers.projects[project as usize].key() {
                tiers.domains[domain as usize].below.push(Reverse((key, project)));
            }
        }
        for domain in 0..to_number(tiers.domains.len()) {
            if let Some(key) = tiers.domains[domain as usize].key() {
                tiers.top.push(Reverse((key, domain)));
            }
        }
        tiers
    }

    /// The number of each user's project and domain.
    fn domain_assignments(&mut self, accounts: &dyn UsageAccounts) -> Vec<(u32, u32)> {
        let mut known: FastMap<ProjectId, (u32, u32)> = FastMap::default();
        let mut names: FastMap<Option<Arc<str>>, u32> = FastMap::default();
        let Self { lists, projects, domains, .. } = self;
        let mut home = |project: ProjectId| {
            *known.entry(project).or_insert_with(|| {
                let (name, account) = accounts.domain(project);
                let domain = *names.entry(name).or_insert_with(|| {
                    domains.push(AccountTier::new(account));
                    to_number(domains.len() - 1)
                });
                projects.push(AccountTier::new(accounts.project(project)));
                (to_number(projects.len() - 1), domain)
            })
        };
        lists.owners.iter().map(|member| home(member.project)).collect()
    }

    fn user_key(&self, user: u32) -> Option<UserKey> {
        let next = self.lists.next(user)?;
        Some((self.users[user as usize].key_before(next.cost), next.age))
    }

    /// Places the next workload and charges it to its user, its project and its domain.
    fn next_turn(&mut self) -> Option<WorkloadTurn> {
        let Reverse((_, domain)) = *self.top.peek()?;
        let Reverse((_, project)) = *self.domains[domain as usize].below.peek()?;
        let Reverse((_, user)) = *self.projects[project as usize].below.peek()?;
        let ListedWorkload { at, cost: charge, .. } = self.lists.take(user)?;
        let account = &mut self.users[user as usize];
        account.charged += charge;
        let turn = WorkloadTurn { at, factor_after: account.factor() };
        let key = self.user_key(user);
        let tier = &mut self.projects[project as usize];
        update_top(&mut tier.below, key);
        tier.account.charged += charge;
        let key = tier.key();
        let tier = &mut self.domains[domain as usize];
        update_top(&mut tier.below, key);
        tier.account.charged += charge;
        let key = tier.key();
        update_top(&mut self.top, key);
        Some(turn)
    }
}
