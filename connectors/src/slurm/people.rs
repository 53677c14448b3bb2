//! The tree of accounts as a tree of people: accounts are domains and projects, and shares are weights.

use api::people_tree::{DomainBranch, PeopleTree, ProjectBranch, UserLeaf};
use domain::names::{check_label, check_name};
use domain::weight::Weight;

use super::account_tree::{AccountTree, MappedAccount, MappedDomain};

/// The number of parts in a whole, where shares themselves are no weights. Weights have four decimals, so that a part is exact to
/// nine places.
const WHOLE_PARTS: f64 = 100_000.0;
/// The largest difference between a part and its weight, of the part, that counts as none.
const MAX_ROUNDING: f64 = 1e-9;

/// A tree of people, and what it cannot say as Slurm does.
#[derive(Clone, Debug, Default)]
pub struct MappedPeople {
    pub tree: PeopleTree,
    /// Accounts, and users as `account/user`, with the share 0. Their weight is the least that there is.
    pub zero_shares: Vec<String>,
    /// Users, as `account/user`, who have the share of their account. They get no weight.
    pub users_of_parents: Vec<String>,
    /// Names that the server does not take. They are left out.
    pub unusable_names: Vec<String>,
}

impl MappedPeople {
    /// The tree of people of a resource group.
    pub fn of(accounts: &AccountTree, resource_group: &str) -> Self {
        let tree = PeopleTree { resource_group: resource_group.to_owned(), ..PeopleTree::default() };
        let mut mapped = Self { tree, ..Self::default() };
        let domains =
            mapped.usable(accounts.mapped_domains(), |domain| (&domain.domain, check_name(&domain.domain).is_ok()));
        let shares: Vec<f64> = domains.iter().map(|domain| domain.share).collect();
        for (domain, weight) in domains.into_iter().zip(weights(&shares, 1.0)) {
            mapped.note_zero(domain.share, domain.domain.clone());
            let branch = mapped.domain(domain, weight);
            mapped.tree.domains.push(branch);
        }
        mapped
    }

    fn domain(&mut self, domain: MappedDomain, weight: Weight) -> DomainBranch {
        let MappedDomain { domain, level_shares, accounts, .. } = domain;
        let accounts = self.usable(accounts, |account| (&account.account, check_label(&account.account).is_ok()));
        let parts: Vec<f64> = accounts.iter().map(|account| account.part).collect();
        let mut projects = Vec::new();
        let scale = if parts.len() > 1 { level_shares } else { 1.0 };
        for (account, weight) in accounts.into_iter().zip(weights(&parts, scale)) {
            self.note_zero(account.part, account.account.clone());
            projects.push(self.project(account, weight));
        }
        DomainBranch { domain_name: domain, weight: Some(weight.to_string()), projects, ..DomainBranch::default() }
    }

    fn project(&mut self, account: MappedAccount, weight: Weight) -> ProjectBranch {
        let MappedAccount { account, users, .. } = account;
        let users = self.usable(users, |(user, _)| (user, check_label(user).is_ok()));
        let shares: Vec<f64> = users.iter().filter_map(|(_, share)| share.number()).collect();
        let mut weights = weights(&shares, 1.0).into_iter();
        let mut leaves = Vec::new();
        for (user, share) in users {
            let weight = share.number().and_then(|share| {
                self.note_zero(share, format!("{account}/{user}"));
                weights.next()
            });
            if weight.is_none() {
                self.users_of_parents.push(format!("{account}/{user}"));
            }
            leaves.push(UserLeaf { user, weight: weight.map(|weight| weight.to_string()), ..UserLeaf::default() });
        }
        ProjectBranch { project: account, weight: Some(weight.to_string()), users: leaves, ..ProjectBranch::default() }
    }

    fn note_zero(&mut self, share: f64, name: String) {
        if share <= 0.0 {
            self.zero_shares.push(name);
        }
    }

    /// Leaves out of `all` whatever has a name that the server does not take, and notes the names.
    fn usable<T>(&mut self, mut all: Vec<T>, check: impl Fn(&T) -> (&String, bool)) -> Vec<T> {
        all.retain(|one| {
            let (name, is_usable) = check(one);
            if !is_usable {
                self.unusable_names.push(name.clone());
            }
            is_usable
        });
        all
    }
}

/// Weights in the proportion of `parts`. They are the parts times `scale`, and so the shares themselves, if these are exact weights.
/// A part of 0 becomes the least weight, beside which the others have to be large.
fn weights(parts: &[f64], scale: f64) -> Vec<Weight> {
    let most = parts.iter().copied().fold(0.0, f64::max);
    let is_exact = |part: &f64| {
        let weight = part * scale;
        (weight - rounded(weight)).abs() <= MAX_ROUNDING * weight
    };
    let has_zero = parts.iter().any(|part| *part <= 0.0);
    let is_usable = !has_zero && scale > 0.0 && most * scale <= Weight::MAX.to_f64() && parts.iter().all(is_exact);
    let sum: f64 = parts.iter().sum();
    let scale = if is_usable { scale } else { WHOLE_PARTS / sum.max(f64::EPSILON) };
    parts.iter().map(|part| nearest_weight(part * scale)).collect()
}

fn rounded(weight: f64) -> f64 {
    (weight * 10_000.0).round() / 10_000.0
}

/// The weight nearest to a number, within what a weight may be.
fn nearest_weight(number: f64) -> Weight {
    let bounded = number.clamp(Weight::MIN.to_f64(), Weight::MAX.to_f64());
    Weight::parse(&format!("{bounded:.4}")).unwrap_or(Weight::MIN)
}
