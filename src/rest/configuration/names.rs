//! The names of projects and users in a configuration: their names in the server, and display names that are unique in
//! the group.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use uuid::Uuid;

use crate::domain::ids::{ProjectId, UserId};
use crate::engine::group::snapshots::snapshot_data::GroupSnapshotData;
use crate::service::Service;

/// Ids by display name; `None` if several have the same one.
struct NameDirectory<'a> {
    kind: &'static str,
    ids: HashMap<&'a str, Option<Uuid>>,
    names: HashMap<Uuid, &'a str>,
}

impl<'a> NameDirectory<'a> {
    fn new(kind: &'static str, named: impl Iterator<Item = (Uuid, Option<&'a Arc<str>>)>) -> Self {
        let mut directory = Self { kind, ids: HashMap::new(), names: HashMap::new() };
        for (id, name) in named {
            let Some(name) = name else { continue };
            directory.names.insert(id, name);
            match directory.ids.entry(name) {
                Entry::Vacant(free) => {
                    free.insert(Some(id));
                }
                Entry::Occupied(mut taken) if *taken.get() != Some(id) => {
                    taken.insert(None);
                }
                Entry::Occupied(_) => {}
            }
        }
        directory
    }

    /// The id for a name or UUID. `known` is the id for the text in the whole server, if there is one.
    fn find(&self, text: &str, known: Option<Uuid>) -> Result<Uuid, (&'static str, String)> {
        match (self.ids.get(text), known) {
            (_, Some(id)) => Ok(id),
            (Some(Some(id)), None) => Ok(*id),
            // A weight may be set for a UUID before its first job.
            (None, None) if let Ok(id) = text.parse() => Ok(id),
            (Some(None), None) => {
                Err(("ambiguous_name", format!("more than one {} is called {text:?}; give the UUID", self.kind)))
            }
            (None, None) => Err((
                if self.kind == "user" { "unknown_user" } else { "unknown_project" },
                format!("no {} is called {text:?}", self.kind),
            )),
        }
    }

    /// A text that [`Self::find`] resolves to `id`: the display name if possible, else the UUID.
    fn show(&self, id: Uuid, known: impl Fn(&str) -> Option<Uuid>) -> String {
        let name = self.names.get(&id).filter(|name| self.find(name, known(name)).is_ok_and(|found| found == id));
        name.map_or_else(|| id.to_string(), |name| (*name).to_owned())
    }
}

/// The names of the projects and users of one group.
pub struct GroupNames<'a> {
    projects: NameDirectory<'a>,
    users: NameDirectory<'a>,
    service: &'a Service,
}

impl<'a> GroupNames<'a> {
    pub fn of(service: &'a Service, facts: &'a GroupSnapshotData) -> Self {
        Self {
            projects: NameDirectory::new(
                "project",
                facts.rows.projects().map(|p| (p.project_id.0, p.project_name.as_ref())),
            ),
            users: NameDirectory::new("user", facts.rows.users.iter().map(|u| (u.member.user.0, u.user_name.as_ref()))),
            service,
        }
    }

    /// The id for the project's name in the whole server, if there is one.
    fn known_project(&self, name: &str) -> Option<Uuid> {
        let people = self.service.people();
        let id = people.find_project_or_id(name).ok()?;
        people.project(id).map(|project| project.id.0)
    }

    fn known_user(&self, name: &str) -> Option<Uuid> {
        let people = self.service.people();
        let id = people.find_user_or_id(name).ok()?;
        people.user(id).map(|user| user.id.0)
    }

    /// The project for `text`, or the code and the text of a fault.
    pub fn project(&self, text: &str) -> Result<ProjectId, (&'static str, String)> {
        self.projects.find(text, self.known_project(text)).map(ProjectId)
    }

    pub fn user(&self, text: &str) -> Result<UserId, (&'static str, String)> {
        self.users.find(text, self.known_user(text)).map(UserId)
    }

    pub fn show_project(&self, id: ProjectId) -> String {
        self.projects.show(id.0, |name| self.known_project(name))
    }

    pub fn show_user(&self, id: UserId) -> String {
        self.users.show(id.0, |name| self.known_user(name))
    }
}
