//! The order by tiers, with heaps: users below their project, projects below their domain. The top of each heap comes
//! next.

use std::cmp::Reverse;
use std::sync::Arc;

use super::charge::{Account, Charge};
use super::heap::{Heap, settle};
use super::lists::{Lists, Waiting, number};
use super::{Turn, UsageAccounts};
use crate::ids::{Member, ProjectId};
use crate::maps::FastMap;

/// The sort key of the user (usage / weight), and the age of its next workload.
type UserKey = (u64, u32);
/// The keys of what is below decide between equal projects, and between equal domains.
type ProjectKey = (u64, UserKey);
type DomainKey = (u64, ProjectKey);

struct Tier<K> {
    account: Account,
    below: Heap<K>,
}

impl<K: Ord + Copy> Tier<K> {
    fn new(account: Account) -> Self {
        Self { account, below: Heap::new() }
    }

    /// The key of the tier; `None` if nothing waits below.
    fn key(&self) -> Option<(u64, K)> {
        let Reverse((first, _)) = self.below.peek()?;
        Some((self.account.key(), *first))
    }
}

/// The first `most` of the workloads in `lists`.
pub fn order(lists: Lists<Member, Charge>, accounts: &dyn UsageAccounts, most: usize) -> Vec<Turn> {
    let mut turns = Vec::with_capacity(lists.len().min(most));
    let mut tiers = Tiers::new(lists, accounts);
    turns.extend(std::iter::from_fn(|| tiers.turn()).take(most));
    turns
}

struct Tiers {
    lists: Lists<Member, Charge>,
    users: Vec<Account>,
    projects: Vec<Tier<UserKey>>,
    domains: Vec<Tier<ProjectKey>>,
    top: Heap<DomainKey>,
}

impl Tiers {
    fn new(lists: Lists<Member, Charge>, accounts: &dyn UsageAccounts) -> Self {
        let users = lists.owners.iter().map(|member| accounts.user(*member)).collect();
        let mut tiers = Self { lists, users, projects: Vec::new(), domains: Vec::new(), top: Heap::new() };
        let homes = tiers.homes(accounts);
        for (user, (project, _)) in (0..).zip(&homes) {
            if let Some(key) = tiers.user_key(user) {
                tiers.projects[*project as usize].below.push(Reverse((key, user)));
            }
        }
        let mut domain_of = vec![0; tiers.projects.len()];
        for (project, domain) in homes {
            domain_of[project as usize] = domain;
        }
        for (project, domain) in (0..).zip(domain_of) {
            if let Some(key) = tiers.projects[project as usize].key() {
                tiers.domains[domain as usize].below.push(Reverse((key, project)));
            }
        }
        for domain in 0..number(tiers.domains.len()) {
            if let Some(key) = tiers.domains[domain as usize].key() {
                tiers.top.push(Reverse((key, domain)));
            }
        }
        tiers
    }

    /// The number of each user's project and domain.
    fn homes(&mut self, accounts: &dyn UsageAccounts) -> Vec<(u32, u32)> {
        let mut known: FastMap<ProjectId, (u32, u32)> = FastMap::default();
        let mut names: FastMap<Option<Arc<str>>, u32> = FastMap::default();
        let Self { lists, projects, domains, .. } = self;
        let mut home = |project: ProjectId| {
            *known.entry(project).or_insert_with(|| {
                let (name, account) = accounts.domain(project);
                let domain = *names.entry(name).or_insert_with(|| {
                    domains.push(Tier::new(account));
                    number(domains.len() - 1)
                });
                projects.push(Tier::new(accounts.project(project)));
                (number(projects.len() - 1), domain)
            })
        };
        lists.owners.iter().map(|member| home(member.project)).collect()
    }

    fn user_key(&self, user: u32) -> Option<UserKey> {
        let next = self.lists.next(user)?;
        Some((self.users[user as usize].key_before(next.cost), next.age))
    }

    /// Places the next workload and charges it to its user, its project and its domain.
    fn turn(&mut self) -> Option<Turn> {
        let Reverse((_, domain)) = *self.top.peek()?;
        let Reverse((_, project)) = *self.domains[domain as usize].below.peek()?;
        let Reverse((_, user)) = *self.projects[project as usize].below.peek()?;
        let Waiting { at, cost: charge, .. } = self.lists.take(user)?;
        let account = &mut self.users[user as usize];
        account.charged += charge;
        let turn = Turn { at, factor_after: account.factor() };
        let key = self.user_key(user);
        let tier = &mut self.projects[project as usize];
        settle(&mut tier.below, key);
        tier.account.charged += charge;
        let key = tier.key();
        let tier = &mut self.domains[domain as usize];
        settle(&mut tier.below, key);
        tier.account.charged += charge;
        let key = tier.key();
        settle(&mut self.top, key);
        Some(turn)
    }
}
