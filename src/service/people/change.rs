//! What the writes of domains, projects and users share.

use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::Directory;
use crate::domain::identity::check_label;
use crate::domain::time::Timestamp;
use crate::service::audit::{self, Change};
use crate::service::group::session::Session;
use crate::service::{Caller, Error, Fault, PublishedGroup, Result, Service};
use crate::store::people::People;
use crate::store::{self, Tx};

/// A key of a write: left out, taken away, or set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Set<T> {
    #[default]
    Keep,
    Clear,
    To(T),
}

/// A key that is null clears; one that is left out keeps, with `#[serde(default)]`.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Set<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Ok(Option::deserialize(deserializer)?.map_or(Self::Clear, Self::To))
    }
}

impl<T> Set<T> {
    /// The same, or `other` where nothing is said.
    #[must_use]
    pub fn or(self, other: Option<T>) -> Self {
        match self {
            Self::Keep => other.map_or(Self::Keep, Self::To),
            said => said,
        }
    }
}

impl Set<String> {
    pub(super) fn apply(self, value: &mut Option<Arc<str>>) {
        match self {
            Self::Keep => {}
            Self::Clear => *value = None,
            Self::To(text) => *value = Some(Arc::from(text)),
        }
    }
}

/// Whoever is archived already keeps the time at which that was.
pub(super) fn archive(archived_at: &mut Option<Timestamp>, wanted: Option<bool>, now: Timestamp) {
    match wanted {
        None => {}
        Some(true) => *archived_at = archived_at.or(Some(now)),
        Some(false) => *archived_at = None,
    }
}

pub(super) fn check_name(name: &Set<String>, faults: &mut Vec<Fault>) {
    if let Set::To(name) = name
        && let Err(error) = check_label(name)
    {
        faults.push(Fault::about("/name", "invalid_name", error));
    }
}

pub(super) fn check_display_name(name: &Set<String>, faults: &mut Vec<Fault>) {
    let printable = |n: &str| !n.is_empty() && n.chars().count() <= 255 && !n.chars().any(char::is_control);
    if matches!(name, Set::To(name) if !printable(name)) {
        faults.push(Fault::about("/display_name", "invalid_name", "does not have 1 to 255 printable characters"));
    }
}

pub(super) fn all_good(faults: Vec<Fault>) -> Result<()> {
    if faults.is_empty() { Ok(()) } else { Err(Error::Invalid(faults)) }
}

pub(super) fn taken(kind: &str, name: &str, by: impl std::fmt::Display) -> Error {
    let detail = format!("the name {name:?} is that of the {kind} {by}; give that one another name first");
    Error::Conflict { code: "name_taken", detail }
}

/// A transaction that changes people.
pub(super) struct Write<'a> {
    pub service: &'a Arc<Service>,
    pub caller: &'a Caller,
    pub now: Timestamp,
    tx: Tx,
    revision: i64,
}

/// What the audit log says of a write.
pub(super) struct Entry {
    pub action: &'static str,
    pub target: String,
    pub before: Option<Value>,
    pub after: Value,
    pub reason: Option<String>,
}

impl<'a> Write<'a> {
    /// Nobody else changes people until it ends, and the directory is as new as the database.
    pub async fn begin(service: &'a Arc<Service>, caller: &'a Caller) -> Result<Self> {
        let tx = service.store.begin().await?;
        let revision = service.people.lock(&tx).await?;
        Ok(Self { service, caller, now: service.clock.now(), tx, revision })
    }

    pub fn read<T>(&self, read: impl FnOnce(&Directory) -> T) -> T {
        read(&self.service.people())
    }

    /// Stores the rows and publishes the groups again that `concerns` names.
    pub async fn commit(self, people: People, entry: Entry, concerns: impl Fn(&PublishedGroup) -> bool) -> Result<()> {
        let Entry { action, target, before, after, reason } = entry;
        store::people::save(&self.tx, &people, self.revision).await?;
        let change = Change { caller: self.caller, action, target, before, after: Some(after), reason };
        audit::write(&self.tx, change, None, self.now).await?;
        self.tx.commit().await.map_err(store::StoreError::from)?;
        self.service.people.committed(people, self.revision);
        for group in self.service.published_groups().into_iter().filter(|group| concerns(group)) {
            // What is stored counts; a group that cannot be written now follows with its next write.
            if let Err(error) = publish_again(self.service, &group.name).await {
                tracing::warn!(group = &*group.name, %error, "a change of people shows later in this group");
            }
        }
        Ok(())
    }
}

async fn publish_again(service: &Arc<Service>, group: &str) -> Result<()> {
    let mut session = Session::open(service, &Caller::job(), group).await?;
    session.share_changed([]);
    session.commit().await.map(drop)
}
