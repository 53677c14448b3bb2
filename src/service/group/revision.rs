//! The revision of a group's configuration, as answers name it and requests repeat it.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::service::input::error::{Error, Found, Result};
use crate::store::groups::Group;
use crate::store::revision::Revision;

/// Which configuration of which group: weights, options, agents, capacities, queues and people. Kernels do not change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigRevision {
    revision: Revision,
    /// Tells the group from others, also from one that had its name before.
    group: String,
}

impl ConfigRevision {
    pub fn of(group: &Group) -> Self {
        let digest = Sha256::digest(format!("{}/{}", group.created_at.micros(), group.name).as_bytes());
        let tag = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
        Self { revision: group.config_revision, group: format!("{tag:08x}") }
    }

    #[must_use]
    pub fn next(self) -> Self {
        Self { revision: self.revision.next(), ..self }
    }

    /// Refuses a request that was made on the grounds of another revision.
    pub fn require(&self, seen: &str) -> Result<()> {
        let Ok(seen) = seen.parse::<Self>() else {
            return Err(Error::about("/if_revision", "invalid_value", "is not a `config_revision` of an answer"));
        };
        if seen.group != self.group {
            return Err(Error::about("/if_revision", "other_group", "is a revision of another resource group"));
        }
        if seen == *self {
            return Ok(());
        }
        let detail = format!("the configuration has changed since the revision {seen}; now it is {self}");
        let found = Box::new(Found { config_revision: Some(self.to_string()), ..Found::default() });
        Err(Error::Overtaken { code: "config_changed", detail, found })
    }
}

impl fmt::Display for ConfigRevision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.revision, self.group)
    }
}

/// A text that is no revision.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("not a revision")]
pub struct NoRevision;

impl FromStr for ConfigRevision {
    type Err = NoRevision;

    fn from_str(text: &str) -> std::result::Result<Self, NoRevision> {
        let (revision, group) = text.rsplit_once('.').ok_or(NoRevision)?;
        let (number, tag) = revision.split_once('.').ok_or(NoRevision)?;
        let number = number.parse().map_err(|_| NoRevision)?;
        let tag = i32::from_str_radix(tag, 16).map_err(|_| NoRevision)?;
        let revision = Self { revision: Revision::stored(number, tag), group: group.to_owned() };
        // Only what an answer can have said is one.
        if revision.to_string() == text { Ok(revision) } else { Err(NoRevision) }
    }
}
