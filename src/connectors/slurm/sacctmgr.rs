//! The text of `sacctmgr`: the tree of accounts and users with their shares, and the rights of the connector's own user.

use std::collections::BTreeMap;

use super::table_text::read_rows;
use crate::connectors::fault::RoundFault;

pub const PROGRAM: &str = "sacctmgr";
const FIELDS: usize = 4;
/// The account at the top of every tree.
pub const ROOT: &str = "root";

/// The arguments that list the tree of a cluster.
pub fn tree_args(cluster: &str) -> Vec<String> {
    let filter = format!("cluster={cluster}");
    ["-n", "-P", "show", "assoc", "format=Account,ParentName,User,Share"]
        .into_iter()
        .map(str::to_owned)
        .chain([filter])
        .collect()
}

/// The share of an account or a user: a number, or `parent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawShare {
    Number(u32),
    /// The entry counts as if it stood at the place of its parent.
    Parent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct AccountNode {
    parent: String,
    share: RawShare,
    users: BTreeMap<String, RawShare>,
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
    /// The part of its domain: the product of the shares among siblings.
    pub weight: f64,
}

impl AccountTree {
    /// Reads the tree.
    pub fn read(text: &str) -> Result<Self, RoundFault> {
        let rows = read_rows(PROGRAM, text, FIELDS, |row| {
            let share = if row.text(3) == "parent" { RawShare::Parent } else { RawShare::Number(row.number(3)?) };
            let names = (row.filled(0)?.to_owned(), row.text(1).to_owned(), row.text(2).to_owned());
            Ok((names, share))
        })?;
        let mut tree = Self::default();
        for ((account, parent, user), share) in rows {
            let none = AccountNode { parent: String::new(), share, users: BTreeMap::new() };
            let node = tree.accounts.entry(account).or_insert(none);
            if user.is_empty() {
                (node.parent, node.share) = (parent, share);
            } else {
                node.users.insert(user, share);
            }
        }
        Ok(tree)
    }

    /// The domain of an account: the account right below `root` that it belongs to.
    pub fn domain_of(&self, account: &str) -> Option<&str> {
        let (mut name, mut node) = self.accounts.get_key_value(account)?;
        // A tree has no more levels than accounts; a circle ends the search.
        for _ in 0..self.accounts.len() {
            if name == ROOT || node.parent == ROOT {
                return Some(name);
            }
            (name, node) = self.accounts.get_key_value(&node.parent)?;
        }
        None
    }

    /// The sum of the shares of what counts among the children of `parent`.
    fn level_shares(&self, parent: &str) -> f64 {
        let number = |share: RawShare| match share {
            RawShare::Number(number) => f64::from(number),
            RawShare::Parent => 0.0,
        };
        let accounts = self.accounts.iter().filter(|(_, node)| node.parent == parent).map(|(_, node)| node.share);
        let users = self.accounts.get(parent).into_iter().flat_map(|node| node.users.values().copied());
        accounts.chain(users).map(number).sum()
    }

    /// The part of its domain that an account has by the shares.
    fn weight_of(&self, account: &str) -> f64 {
        let (mut weight, mut name) = (1.0, account);
        for _ in 0..self.accounts.len() {
            let Some(node) = self.accounts.get(name).filter(|node| name != ROOT && node.parent != ROOT) else { break };
            if let RawShare::Number(share) = node.share {
                let all = self.level_shares(&node.parent);
                weight *= if all > 0.0 { f64::from(share) / all } else { 0.0 };
            }
            name = &node.parent;
        }
        weight
    }

    /// The accounts that have users, by name.
    pub fn mapped_accounts(&self) -> Vec<MappedAccount> {
        let with_users = self.accounts.iter().filter(|(_, node)| !node.users.is_empty());
        let mapped = with_users.filter_map(|(account, _)| {
            let domain = self.domain_of(account)?.to_owned();
            Some(MappedAccount { account: account.clone(), domain, weight: self.weight_of(account) })
        });
        mapped.collect()
    }
}

/// True if the text of `sacctmgr show user` says that the user may change jobs of others.
pub fn is_operator(text: &str, user: &str) -> Result<bool, RoundFault> {
    let rows = read_rows(PROGRAM, text, 2, |row| Ok((row.text(0).to_owned(), row.text(1).to_owned())))?;
    let level = rows.into_iter().find(|(name, _)| name == user).map(|(_, level)| level).unwrap_or_default();
    Ok(matches!(level.as_str(), "Operator" | "Administrator"))
}
