//! The text of `sshare -a -l -P`: a header line, and a line for each account and user, indented by its depth.

use super::{AccountFile, LineFault, LineKind, TreeFormat, TreeLines};
use crate::connectors::slurm::account_tree::RawShare;
use crate::domain::share_tree::ROOT_ACCOUNT;

pub const FORMAT: TreeFormat = TreeFormat {
    name: "sshare",
    about: "Slurm, the shares of accounts and users: sshare -a -l -P",
    reader: || Box::new(ShareLines::default()),
};

/// The positions of the fields that count, and the number of all.
#[derive(Clone, Copy, Debug)]
struct ShareFields {
    account: usize,
    user: usize,
    shares: usize,
    count: usize,
}

impl ShareFields {
    fn read(header: &str) -> Option<Self> {
        let names: Vec<&str> = header.split('|').map(str::trim).collect();
        let find = |name: &str| names.iter().position(|found| found.eq_ignore_ascii_case(name));
        Some(Self { account: find("Account")?, user: find("User")?, shares: find("RawShares")?, count: names.len() })
    }
}

#[derive(Default)]
struct ShareLines {
    fields: Option<ShareFields>,
    /// The accounts on the path to the last line, by depth.
    path: Vec<String>,
}

impl TreeLines for ShareLines {
    fn read_line(&mut self, text: &str, file: &mut AccountFile) -> Result<LineKind, LineFault> {
        // Files that are put together have several header lines.
        if let Some(fields) = ShareFields::read(text) {
            self.fields = Some(fields);
            return Ok(LineKind::Other);
        }
        let fields = self.fields.ok_or(LineFault::UnknownForm)?;
        let values: Vec<&str> = text.split('|').collect();
        if values.len() != fields.count {
            return Err(LineFault::FieldCount { found: values.len(), expected: fields.count });
        }
        let (indented, user, share) =
            (values[fields.account], values[fields.user].trim(), values[fields.shares].trim());
        let account = indented.trim();
        let depth = indented.len() - indented.trim_start().len();
        if account.is_empty() {
            return Err(LineFault::NoAccount);
        }
        // The account at the top has no share.
        if account == ROOT_ACCOUNT && user.is_empty() && depth == 0 {
            self.path = vec![account.to_owned()];
            return Ok(LineKind::Entry);
        }
        let share = RawShare::parse(share).ok_or_else(|| LineFault::BadShare(share.to_owned()));
        if user.is_empty() {
            let parent = depth.checked_sub(1).and_then(|above| self.path.get(above)).cloned();
            let parent = parent.ok_or_else(|| LineFault::UnknownParent(account.to_owned()))?;
            self.path.truncate(depth);
            // An account with an unreadable share is one nevertheless, because others hang below it.
            self.path.push(account.to_owned());
            file.tree.add_account(account, &parent, share.clone().unwrap_or(RawShare::Number(1)));
            share?;
        } else if account == ROOT_ACCOUNT || file.tree.has_account(account) {
            file.tree.add_user(account, user, share?);
        } else {
            return Err(LineFault::UnknownParent(account.to_owned()));
        }
        Ok(LineKind::Entry)
    }
}
