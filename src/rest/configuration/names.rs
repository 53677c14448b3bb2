//! Names of projects and users: those of the server, and display names where they are unique in the group.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use uuid::Uuid;

use crate::domain::ids::{ProjectId, UserId};
use crate::service::Service;
use crate::service::group::published::facts::GroupSnapshotData;

/// Ids by display name; `None`: more than one has it.
struct Directory<'a> {
    kind: &'static str,
    ids: HashMap<&'a str, Option<Uuid>>,
    names: HashMap<Uuid, &'a str>,
}

impl<'a> Directory<'a> {
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

    /// The id that a text stands for. `known` is the one that it stands for in the whole server, if the server knows it.
    fn find(&self, text: &str, known: Option<Uuid>) -> Result<Uuid, (&'static str, String)> {
        match (self.ids.get(text), known) {
            (_, Some(id)) => Ok(id),
            (Some(Some(id)), None) => Ok(*id),
            // A weight may be stored for a UUID before its first job.
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

    /// The shortest text that [`Self::find`] takes for `id`.
    fn show(&self, id: Uuid, known: impl Fn(&str) -> Option<Uuid>) -> String {
        let name = self.names.get(&id).filter(|name| self.find(name, known(name)).is_ok_and(|found| found == id));
        name.map_or_else(|| id.to_string(), |name| (*name).to_owned())
    }
}

/// The names that may stand for the people of one group.
pub struct Names<'a> {
    projects: Directory<'a>,
    users: Directory<'a>,
    service: &'a Service,
}

impl<'a> Names<'a> {
    pub fn of(service: &'a Service, facts: &'a GroupSnapshotData) -> Self {
        Self {
            projects: Directory::new(
                "project",
                facts.rows.projects().map(|p| (p.project_id.0, p.project_name.as_ref())),
            ),
            users: Directory::new("user", facts.rows.users.iter().map(|u| (u.member.user.0, u.user_name.as_ref()))),
            service,
        }
    }

    /// The project that the name means in the whole server, if it is known there.
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

    /// The project that `text` means, or a code and what is wrong.
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
