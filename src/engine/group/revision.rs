//! The revision of a group's configuration, which answers contain and requests repeat.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::engine::error::{Error, PresentState, Result};
use crate::store::groups::StoredGroup;
use crate::store::revision::TaggedRevision;

/// The configuration of one group as of one write: weights, options, agents, capacities, queues and people. Changes of
/// kernels keep the revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigRevision {
    revision: TaggedRevision,
    /// A digest that distinguishes the group from others, also from an earlier group of the same name.
    group: String,
}

impl ConfigRevision {
    pub fn of(group: &StoredGroup) -> Self {
        let digest = Sha256::digest(format!("{}/{}", group.created_at.micros(), group.name).as_bytes());
        let tag = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
        Self { revision: group.config_revision, group: format!("{tag:08x}") }
    }

    #[must_use]
    pub fn next(self) -> Self {
        Self { revision: self.revision.next(), ..self }
    }

    /// Refuses a request that was made for another revision than this one.
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
        let found = Box::new(PresentState { config_revision: Some(self.to_string()), ..PresentState::default() });
        Err(Error::Overtaken { code: "config_changed", detail, found })
    }
}

impl fmt::Display for ConfigRevision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.revision, self.group)
    }
}

/// The error for a text that is not a revision.
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
        let revision = Self { revision: TaggedRevision::stored(number, tag), group: group.to_owned() };
        // Only the text that `Display` writes is accepted.
        if revision.to_string() == text { Ok(revision) } else { Err(NoRevision) }
    }
}
