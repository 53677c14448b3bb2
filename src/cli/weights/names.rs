//! Display names of one group's projects and users: usable where they are unique.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use uuid::Uuid;

use crate::domain::ids::{ProjectId, UserId};
use crate::service::PublishedGroup;

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

    /// A UUID is one, whatever else is called so.
    fn find(&self, text: &str) -> Result<Uuid, (&'static str, String)> {
        if let Ok(id) = text.parse() {
            return Ok(id);
        }
        match self.ids.get(text) {
            Some(Some(id)) => Ok(*id),
            Some(None) => {
                Err(("ambiguous_name", format!("more than one {} is called {text:?}; give the UUID", self.kind)))
            }
            None => Err((
                if self.kind == "user" { "unknown_user" } else { "unknown_project" },
                format!("no {} of the resource group is called {text:?}", self.kind),
            )),
        }
    }

    /// The shortest text that [`Self::find`] takes for `id`.
    fn show(&self, id: Uuid) -> String {
        let name = self.names.get(&id).filter(|name| self.find(name).is_ok_and(|found| found == id));
        name.map_or_else(|| id.to_string(), |name| (*name).to_owned())
    }
}

/// The names of one group.
pub struct Names<'a> {
    projects: Directory<'a>,
    users: Directory<'a>,
}

impl<'a> Names<'a> {
    pub fn of(group: &'a PublishedGroup) -> Self {
        Self {
            projects: Directory::new(
                "project",
                group.projects.iter().map(|p| (p.project_id.0, p.project_name.as_ref())),
            ),
            users: Directory::new("user", group.users.iter().map(|u| (u.member.user.0, u.user_name.as_ref()))),
        }
    }

    /// The project that `text` means, or a code and what is wrong.
    pub fn project(&self, text: &str) -> Result<ProjectId, (&'static str, String)> {
        self.projects.find(text).map(ProjectId)
    }

    pub fn user(&self, text: &str) -> Result<UserId, (&'static str, String)> {
        self.users.find(text).map(UserId)
    }

    pub fn show_project(&self, id: ProjectId) -> String {
        self.projects.show(id.0)
    }

    pub fn show_user(&self, id: UserId) -> String {
        self.users.show(id.0)
    }
}
