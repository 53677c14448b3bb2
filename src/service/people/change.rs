//! The common parts of writes of domains, projects and users.

use std::fmt::Display;
use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::domain::identity::reads_as_uuid;
use crate::domain::names;
use crate::domain::time::Timestamp;
use crate::engine::audit::{self, AuditedChange};
use crate::engine::group::publish::publish_where;
use crate::engine::group::snapshots::rows::RankedRows;
use crate::engine::people::PeopleDirectory;
use crate::service::{Caller, Error, Fault, Result, Service};
use crate::store::people::{PeopleLock, PeopleRows};
use crate::store::{self, Tx};

/// A key of a write: left out, cleared or set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeyUpdate<T> {
    #[default]
    Keep,
    Clear,
    To(T),
}

/// A null clears; an absent key keeps, with `#[serde(default)]`.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for KeyUpdate<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Ok(Option::deserialize(deserializer)?.map_or(Self::Clear, Self::To))
    }
}

impl<T> KeyUpdate<T> {
    /// This value, or `other` if the key was left out.
    #[must_use]
    pub fn or(self, other: Option<T>) -> Self {
        match self {
            Self::Keep => other.map_or(Self::Keep, Self::To),
            said => said,
        }
    }
}

impl KeyUpdate<String> {
    pub(super) fn apply(self, value: &mut Option<Arc<str>>) {
        match self {
            Self::Keep => {}
            Self::Clear => *value = None,
            Self::To(text) => *value = Some(Arc::from(text)),
        }
    }
}

/// Sets or clears the time of archiving. An entity that is already archived keeps its time.
pub(super) fn archive(archived_at: &mut Option<Timestamp>, wanted: Option<bool>, now: Timestamp) {
    match wanted {
        None => {}
        Some(true) => *archived_at = archived_at.or(Some(now)),
        Some(false) => *archived_at = None,
    }
}

/// Checks a name that an admin gives to the entity `id`, whose present name is `stored`. A name that reads as a UUID is
/// allowed only if the rule of names gives the same id for it; otherwise it would hide the entity that has this UUID.
pub(super) fn check_name<I: PartialEq>(
    name: &KeyUpdate<String>,
    stored: Option<&Arc<str>>,
    id: &I,
    by_rule: impl FnOnce(&str) -> I,
    faults: &mut Vec<Fault>,
) {
    let KeyUpdate::To(name) = name else { return };
    if is_stored(name, stored) {
        return;
    }
    if let Err(error) = names::check_label(name) {
        faults.push(Fault::about("/name", "invalid_name", error));
    } else if reads_as_uuid(name) && by_rule(name) != *id {
        let detail =
            "reads as a UUID, which can be the name only of the one whose UUID follows from it by the rule of names";
        faults.push(Fault::about("/name", "invalid_name", detail));
    }
}

pub(super) fn check_display_name(name: &KeyUpdate<String>, stored: Option<&Arc<str>>, faults: &mut Vec<Fault>) {
    if let KeyUpdate::To(name) = name
        && !is_stored(name, stored)
        && let Err(error) = names::check_display_name(name)
    {
        faults.push(Fault::about("/display_name", "invalid_name", error));
    }
}

/// A name that is stored already may be sent again, even if a newer rule would refuse it.
fn is_stored(name: &str, stored: Option<&Arc<str>>) -> bool {
    stored.is_some_and(|stored| **stored == *name)
}

pub(super) fn all_good(faults: Vec<Fault>) -> Result<()> {
    if faults.is_empty() { Ok(()) } else { Err(Error::Invalid(faults)) }
}

/// Refuses the name of another entity: a stored name, or the name from which the id of an entity without a name was
/// made.
pub(super) fn check_free<I: Copy + PartialEq + Display>(
    kind: &str,
    name: &str,
    id: I,
    holder: Option<I>,
    by_rule: I,
    is_unnamed: impl Fn(I) -> bool,
) -> Result<()> {
    let holder = holder.filter(|holder| *holder != id);
    let Some(holder) = holder.or(Some(by_rule).filter(|by_rule| *by_rule != id && is_unnamed(*by_rule))) else {
        return Ok(());
    };
    let detail = format!("the name {name:?} is that of the {kind} {holder}; give that one another name first");
    Err(Error::Conflict { code: "name_taken", detail })
}

/// A transaction that changes people.
pub(super) struct PeopleWrite<'a> {
    pub service: &'a Arc<Service>,
    pub caller: &'a Caller,
    pub now: Timestamp,
    tx: Tx,
    lock: PeopleLock,
}

/// A domain, a project or a user that an admin changes.
pub(super) trait PersonRow: Clone + PartialEq {
    /// The action of a change in the audit log.
    const ACTION: &'static str;

    /// The name of the target in the audit log.
    fn target(&self) -> String;

    /// The description in the audit log.
    fn describe(&self) -> Value;

    /// True if a group shows the entity.
    fn is_shown(&self, rows: &RankedRows) -> bool;

    /// Adds the entity to the rows to be stored.
    fn add_to(self, people: &mut PeopleRows);
}

impl<'a> PeopleWrite<'a> {
    /// Begins a transaction. Until it ends no other writer changes people, and the directory is up to date with the
    /// database.
    pub async fn begin(service: &'a Arc<Service>, caller: &'a Caller) -> Result<Self> {
        let tx = service.store().begin().await?;
        let lock = service.engine.people.lock(&tx).await?;
        Ok(Self { service, caller, now: service.clock().now(), tx, lock })
    }

    pub fn read<T>(&self, read: impl FnOnce(&PeopleDirectory) -> T) -> T {
        read(&self.service.people())
    }

    /// Stores the row and the other `new` rows, unless nothing has changed, and publishes the groups that show it
    /// again. Returns the row, and true if it was unknown before.
    pub async fn put<R: PersonRow>(
        self,
        known: Option<Arc<R>>,
        row: R,
        mut new: PeopleRows,
        reason: Option<String>,
    ) -> Result<(Arc<R>, bool)> {
        if let Some(known) = known.as_ref().filter(|known| ***known == row) {
            return Ok((Arc::clone(known), false));
        }
        row.clone().add_to(&mut new);
        store::people::save(&self.tx, &new, self.lock).await?;
        let change = AuditedChange {
            action: R::ACTION,
            target: row.target(),
            before: known.as_deref().map(R::describe),
            after: Some(row.describe()),
            reason,
        };
        audit::write(&self.tx, &self.caller.author(), change, None, self.now).await?;
        self.tx.commit().await.map_err(store::StoreError::from)?;
        self.service.engine.people.committed(new, self.lock);
        publish_where(&self.service.engine, |_, rows| row.is_shown(rows)).await;
        Ok((Arc::new(row), known.is_none()))
    }
}
