//! The tree of accounts of Slurm, and the parts of the cluster that its shares give.
//!
//! An account right below `root` is a domain. An account without accounts below it, or with users, is a project of the domain
//! that it belongs to. The levels between are folded in: the part of a project is the product of what `sshare -l` shows as
//! `NormShares` on its path. Whatever has the share `parent` counts as if it stood at the place of its parent, as in Slurm.

use std::collections::BTreeMap;

use domain::share_tree::ROOT_ACCOUNT;

/// The number that stands for `parent` in Slurm's database and its dumps.
const PARENT_NUMBER: u32 = 2_147_483_647;

/// The share of an account or a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawShare {
    Number(u32),
    /// The entry counts as if it stood at the place of its parent.
    Parent,
}

impl RawShare {
    /// Reads a number, or the word `parent`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "parent" => Some(Self::Parent),
            number => number.parse().ok().map(Self::of_number),
        }
    }

    fn of_number(number: u32) -> Self {
        if number == PARENT_NUMBER { Self::Parent } else { Self::Number(number) }
    }

    /// The share of its own; `None` for `parent`.
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(f64::from(number)),
            Self::Parent => None,
        }
    }

    /// The share of a user with several associations with one account, as for several partitions.
    fn plus(self, more: Self) -> Self {
        match (self, more) {
            (Self::Number(one), Self::Number(other)) => Self::Number(one.saturating_add(other)),
            (Self::Parent, share) | (share, Self::Parent) => share,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct AccountNode {
    parent: String,
    share: RawShare,
    users: BTreeMap<String, RawShare>,
}

impl AccountNode {
    fn user_shares(&self) -> f64 {
        self.users.values().filter_map(|share| share.number()).sum()
    }
}

/// The tree of accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountTree {
    accounts: BTreeMap<String, AccountNode>,
}

/// An account that becomes a project.
#[derive(Clone, Debug, PartialEq)]
pub struct MappedAccount {
    pub account: String,
    /// The account right below `root`.
    pub domain: String,
    /// The part of its domain, 0 to 1.
    pub part: f64,
    pub users: Vec<(String, RawShare)>,
}

/// An account right below `root`, which becomes a domain with its projects.
#[derive(Clone, Debug, PartialEq)]
pub struct MappedDomain {
    pub domain: String,
    /// The share among the domains, as Slurm has it.
    pub share: f64,
    /// The sum of the shares in the level right below.
    pub level_shares: f64,
    pub accounts: Vec<MappedAccount>,
}

/// An account in the order of the tree, with what the shares give it.
struct PlacedAccount<'t> {
    name: &'t str,
    node: &'t AccountNode,
    /// The positions of its parent and of its domain in the list; a domain has no parent.
    parent: Option<usize>,
    domain: usize,
    has_accounts: bool,
    /// The sum of the shares of what competes in its level.
    level_shares: f64,
    /// The position of the account in whose level its children compete: its own, unless its share is `parent`.
    level: usize,
    /// The part of the domain that the account has.
    part: f64,
}

impl AccountTree {
    /// Adds an account with the name of its parent, or replaces what is known of it but its users.
    pub fn add_account(&mut self, account: &str, parent: &str, share: RawShare) {
        let node = self.node(account);
        (node.parent, node.share) = (parent.to_owned(), share);
    }

    /// Adds a user to an account.
    pub fn add_user(&mut self, account: &str, user: &str, share: RawShare) {
        let users = &mut self.node(account).users;
        let known = users.get(user).copied();
        users.insert(user.to_owned(), known.map_or(share, |known| known.plus(share)));
    }

    fn node(&mut self, account: &str) -> &mut AccountNode {
        let none = || AccountNode { parent: String::new(), share: RawShare::Parent, users: BTreeMap::new() };
        self.accounts.entry(account.to_owned()).or_insert_with(none)
    }

    pub fn has_account(&self, account: &str) -> bool {
        self.accounts.contains_key(account)
    }

    /// The domain of an account: the account right below `root` that it belongs to.
    pub fn domain_of(&self, account: &str) -> Option<&str> {
        let (mut name, mut node) = self.accounts.get_key_value(account)?;
        // A tree has no more levels than accounts; a circle ends the search.
        for _ in 0..self.accounts.len() {
            if name == ROOT_ACCOUNT || node.parent == ROOT_ACCOUNT {
                return Some(name);
            }
            (name, node) = self.accounts.get_key_value(&node.parent)?;
        }
        None
    }

    /// The domains with their projects, by name. Accounts that do not hang below `root` are left out.
    pub fn mapped_domains(&self) -> Vec<MappedDomain> {
        let placed = self.placed_accounts();
        let mut domains: BTreeMap<&str, MappedDomain> = BTreeMap::new();
        for account in placed.iter().filter(|account| account.parent.is_none()) {
            let share = account.node.share.number().unwrap_or(account.level_shares);
            domains.insert(account.name, MappedDomain::new(account.name, share, account.level_shares));
        }
        for account in &placed {
            let domain = placed[account.domain].name;
            if let Some(part) = project_part(account, &placed)
                && let Some(mapped) = domains.get_mut(domain)
            {
                mapped.add(account.name, part, account.node);
            }
        }
        if let Some(root) = self.accounts.get(ROOT_ACCOUNT).filter(|root| !root.users.is_empty()) {
            let shares = root.user_shares();
            let mut domain = MappedDomain::new(ROOT_ACCOUNT, shares, shares);
            domain.add(ROOT_ACCOUNT, 1.0, root);
            domains.insert(ROOT_ACCOUNT, domain);
        }
        domains.into_values().collect()
    }

    /// The accounts that become projects, by name.
    pub fn mapped_accounts(&self) -> Vec<MappedAccount> {
        let mut accounts: Vec<MappedAccount> =
            self.mapped_domains().into_iter().flat_map(|domain| domain.accounts).collect();
        accounts.sort_by(|one, other| one.account.cmp(&other.account));
        accounts
    }

    /// The accounts below `root`, each before those below it, with their parts.
    fn placed_accounts(&self) -> Vec<PlacedAccount<'_>> {
        let mut placed = self.ordered_accounts();
        // From below: the shares of a level contain those below an account with the share `parent`.
        for at in (0..placed.len()).rev() {
            placed[at].level_shares += placed[at].node.user_shares();
            let share = placed[at].node.share.number().unwrap_or(placed[at].level_shares);
            if let Some(parent) = placed[at].parent {
                placed[parent].level_shares += share;
            }
        }
        // From above: each level has the part of its account.
        for at in 0..placed.len() {
            let Some(parent) = placed[at].parent else { continue };
            let level = placed[parent].level;
            let (part, shares) = (placed[level].part, placed[level].level_shares);
            (placed[at].level, placed[at].part) = match placed[at].node.share.number() {
                Some(number) => (at, part * ratio(number, shares)),
                None => (level, part),
            };
        }
        placed
    }

    fn ordered_accounts(&self) -> Vec<PlacedAccount<'_>> {
        let mut children: BTreeMap<&str, Vec<(&str, &AccountNode)>> = BTreeMap::new();
        for (name, node) in self.accounts.iter().filter(|(name, _)| *name != ROOT_ACCOUNT) {
            children.entry(&node.parent).or_default().push((name, node));
        }
        let place = |(name, node), parent, at| PlacedAccount {
            name,
            node,
            parent,
            domain: at,
            has_accounts: false,
            level_shares: 0.0,
            level: at,
            part: 1.0,
        };
        let mut placed: Vec<PlacedAccount> = Vec::new();
        for account in children.remove(ROOT_ACCOUNT).unwrap_or_default() {
            let at = placed.len();
            placed.push(place(account, None, at));
        }
        let mut at = 0;
        while let Some(account) = placed.get(at) {
            let domain = account.domain;
            for child in children.remove(account.name).unwrap_or_default() {
                placed[at].has_accounts = true;
                let position = placed.len();
                placed.push(PlacedAccount { domain, ..place(child, Some(at), position) });
            }
            at += 1;
        }
        placed
    }
}

impl MappedDomain {
    fn new(domain: &str, share: f64, level_shares: f64) -> Self {
        Self { domain: domain.to_owned(), share, level_shares, accounts: Vec::new() }
    }

    fn add(&mut self, account: &str, part: f64, node: &AccountNode) {
        let users = node.users.iter().map(|(user, share)| (user.clone(), *share)).collect();
        self.accounts.push(MappedAccount { account: account.to_owned(), domain: self.domain.clone(), part, users });
    }
}

/// The part of its domain that an account has as a project; `None`: it is none.
fn project_part(account: &PlacedAccount, placed: &[PlacedAccount]) -> Option<f64> {
    let PlacedAccount { node, part, .. } = account;
    let has_level = account.parent.is_none() || matches!(node.share, RawShare::Number(_));
    if !account.has_accounts && has_level {
        return Some(*part);
    }
    if node.users.is_empty() {
        return None;
    }
    // The users compete with accounts, so that the project is what they have together. Users without a share of their own have that
    // of the account.
    let level = &placed[account.level];
    let shares = node.user_shares();
    Some(if shares > 0.0 { level.part * ratio(shares, level.level_shares) } else { *part })
}

fn ratio(share: f64, of: f64) -> f64 {
    if of > 0.0 { share / of } else { 0.0 }
}
