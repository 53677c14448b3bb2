//! The file of `sacctmgr dump CLUSTER`: lines of `Parent`, `Account` and `User`, each with options behind colons.

use super::{AccountFile, LineFault, LineKind, TreeFormat, TreeLines};
use crate::connectors::slurm::account_tree::RawShare;
use crate::domain::share_tree::ROOT_ACCOUNT;

pub const FORMAT: TreeFormat = TreeFormat {
    name: "sacctmgr-dump",
    about: "Slurm, the accounts and users of a cluster: sacctmgr dump CLUSTER file=FILE",
    reader: || Box::new(DumpLines { parent: ROOT_ACCOUNT.to_owned() }),
};

/// The share of an entry that has none in the file.
const DEFAULT_SHARE: RawShare = RawShare::Number(1);

struct DumpLines {
    /// The account below which the next lines are.
    parent: String,
}

impl TreeLines for DumpLines {
    fn read_line(&mut self, text: &str, file: &mut AccountFile) -> Result<LineKind, LineFault> {
        let text = text.trim();
        if text.starts_with('#') {
            return Ok(LineKind::Other);
        }
        let (kind, rest) = text.split_once(" - ").ok_or(LineFault::UnknownForm)?;
        let (name, options) = quoted_name(rest).ok_or(LineFault::UnknownForm)?;
        match kind.trim() {
            "Cluster" => {
                file.cluster = Some(name.to_owned());
                Ok(LineKind::Other)
            }
            "Parent" => {
                if name != ROOT_ACCOUNT && !file.tree.has_account(name) {
                    return Err(LineFault::UnknownParent(name.to_owned()));
                }
                name.clone_into(&mut self.parent);
                Ok(LineKind::Other)
            }
            "Account" => {
                // An account with an unreadable share is one nevertheless, because others hang below it.
                let share = share(options);
                file.tree.add_account(name, &self.parent, share.clone().unwrap_or(DEFAULT_SHARE));
                share.map(|_| LineKind::Entry)
            }
            "User" => {
                file.tree.add_user(&self.parent, name, share(options)?);
                Ok(LineKind::Entry)
            }
            _ => Err(LineFault::UnknownForm),
        }
    }
}

/// The name in quotes, and the options behind it.
fn quoted_name(text: &str) -> Option<(&str, &str)> {
    let (name, options) = text.trim().strip_prefix('\'')?.split_once('\'')?;
    (!name.is_empty()).then_some((name, options))
}

/// The share among the options. A text in quotes may contain a colon, and `Fairshare` stands outside of quotes.
fn share(options: &str) -> Result<RawShare, LineFault> {
    let outside: String = options.split('\'').step_by(2).collect();
    let value = outside.split(':').find_map(|option| {
        let (key, value) = option.split_once('=')?;
        key.trim().eq_ignore_ascii_case("fairshare").then_some(value.trim())
    });
    let Some(value) = value else { return Ok(DEFAULT_SHARE) };
    RawShare::parse(value).ok_or_else(|| LineFault::BadShare(value.to_owned()))
}
