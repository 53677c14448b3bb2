//! The text of `sacctmgr`: the tree of accounts and users with their shares, and the rights of the connector's own user.

use super::account_tree::{AccountTree, RawShare};
use super::table_text::read_rows;
use crate::fault::RoundFault;

pub const PROGRAM: &str = "sacctmgr";
const FIELDS: usize = 4;

/// The arguments that list the tree of a cluster.
pub fn tree_args(cluster: &str) -> Vec<String> {
    let filter = format!("cluster={cluster}");
    ["-n", "-P", "show", "assoc", "format=Account,ParentName,User,Share"]
        .into_iter()
        .map(str::to_owned)
        .chain([filter])
        .collect()
}

/// Reads the tree.
pub fn read_tree(text: &str) -> Result<AccountTree, RoundFault> {
    let rows = read_rows(PROGRAM, text, FIELDS, |row| {
        let share = match RawShare::parse(row.text(3)) {
            Some(share) => share,
            None => RawShare::Number(row.number(3)?),
        };
        Ok((row.filled(0)?.to_owned(), row.text(1).to_owned(), row.text(2).to_owned(), share))
    })?;
    let mut tree = AccountTree::default();
    for (account, parent, user, share) in rows {
        if user.is_empty() {
            tree.add_account(&account, &parent, share);
        } else {
            tree.add_user(&account, &user, share);
        }
    }
    Ok(tree)
}

/// True if the text of `sacctmgr show user` says that the user may change jobs of others.
pub fn is_operator(text: &str, user: &str) -> Result<bool, RoundFault> {
    let rows = read_rows(PROGRAM, text, 2, |row| Ok((row.text(0).to_owned(), row.text(1).to_owned())))?;
    let level = rows.into_iter().find(|(name, _)| name == user).map(|(_, level)| level).unwrap_or_default();
    Ok(matches!(level.as_str(), "Operator" | "Administrator"))
}
