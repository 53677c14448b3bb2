//! Users or projects in memory, by id and by stored name. Both follow the same rules, so one type serves for both.

use std::sync::Arc;

use uuid::Uuid;

use super::resolution::{AmbiguousName, KnownNames, NameHolder, UnknownUuid, resolve};
use crate::domain::identity;
use crate::domain::maps::FastMap;
use crate::store::people::{Project, User};

/// A user or project: it has an id and may have a unique name.
pub(super) trait NamedEntity {
    fn uuid(&self) -> Uuid;
    fn name(&self) -> Option<&Arc<str>>;
    /// The name that answers show beside the id.
    fn shown(&self) -> Option<&Arc<str>>;
    /// The id that is made from a name.
    fn uuid_by_rule(name: &str) -> Uuid;
}

/// All entities of one kind.
#[derive(Clone, Debug)]
pub(super) struct NamedEntities<E> {
    rows: FastMap<Uuid, Arc<E>>,
    names: FastMap<Arc<str>, NameHolder>,
}

impl<E> Default for NamedEntities<E> {
    fn default() -> Self {
        Self { rows: FastMap::default(), names: FastMap::default() }
    }
}

impl<E: NamedEntity> NamedEntities<E> {
    pub(super) fn get(&self, id: Uuid) -> Option<&Arc<E>> {
        self.rows.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: Uuid) -> Option<&mut Arc<E>> {
        self.rows.get_mut(&id)
    }

    /// All entities, in no order.
    pub(super) fn rows(&self) -> impl ExactSizeIterator<Item = &Arc<E>> {
        self.rows.values()
    }

    /// The stored names with their ids, in no order.
    pub(super) fn names(&self) -> impl Iterator<Item = (&Arc<str>, Uuid)> {
        self.names.iter().map(|(name, holder)| (name, holder.id))
    }

    /// The id of the entity with the stored name.
    pub(super) fn id_of_name(&self, name: &str) -> Option<Uuid> {
        self.names.get(name).map(|holder| holder.id)
    }

    pub(super) fn shown_name(&self, id: Uuid) -> Option<Arc<str>> {
        self.rows.get(&id)?.shown().cloned()
    }

    /// The id that a text stands for, whether known or not.
    pub(super) fn resolve(&self, text: &str, otherwise: UnknownUuid) -> Result<Uuid, AmbiguousName> {
        let known = |id| {
            let row = self.rows.get(&id)?;
            Some(KnownNames { name: row.name().map(|name| &**name), shown: row.shown().map(|name| &**name) })
        };
        resolve(text, self.names.get(text), || E::uuid_by_rule(text), known, otherwise)
    }

    /// The id for a UUID whose spelling is not known: that of the entity whose stored name it is, otherwise the UUID
    /// itself.
    pub(super) fn id_of_uuid(&self, id: Uuid) -> Uuid {
        let known = |text: String| self.resolve(&text, UnknownUuid::IsId).ok().filter(|id| self.rows.contains_key(id));
        known(id.to_string()).or_else(|| known(id.simple().to_string())).unwrap_or(id)
    }

    pub(super) fn insert(&mut self, row: E) {
        let id = row.uuid();
        let before = self.rows.get(&id).and_then(|known| known.name().cloned());
        if before.as_ref() != row.name() {
            // Another entity may already have taken the name.
            if let Some(before) = before.filter(|name| self.id_of_name(name) == Some(id)) {
                self.names.remove(&before);
            }
            if let Some(name) = row.name() {
                self.names.insert(Arc::clone(name), NameHolder { id, by_rule: E::uuid_by_rule(name) == id });
            }
        }
        self.rows.insert(id, Arc::new(row));
    }
}

impl NamedEntity for User {
    fn uuid(&self) -> Uuid {
        self.id.0
    }

    fn name(&self) -> Option<&Arc<str>> {
        self.name.as_ref()
    }

    fn shown(&self) -> Option<&Arc<str>> {
        self.shown()
    }

    fn uuid_by_rule(name: &str) -> Uuid {
        identity::user(name).0
    }
}

impl NamedEntity for Project {
    fn uuid(&self) -> Uuid {
        self.id.0
    }

    fn name(&self) -> Option<&Arc<str>> {
        self.name.as_ref()
    }

    fn shown(&self) -> Option<&Arc<str>> {
        self.shown()
    }

    fn uuid_by_rule(name: &str) -> Uuid {
        identity::project(name).0
    }
}
