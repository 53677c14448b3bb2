//! Refuses names of users and projects that the server does not know, as far as the caller may learn of them.

use std::sync::Arc;

use uuid::Uuid;

use crate::domain::ids::{ProjectId, UserId};
use crate::engine::people::lookup::nearest_name_hint;
use crate::engine::people::{PeopleDirectory, is_text_of_id};
use crate::service::{Caller, Fault};

/// Refuses the name of a user that the server does not know, because in a search it is mostly a typing error. To a key that
/// sees only some rows, an unknown name is one without rows, because the key must not learn which names other groups have.
pub fn require_known_user(
    people: &PeopleDirectory,
    caller: &Caller,
    user: Option<UserId>,
    text: Option<&str>,
) -> Result<(), Fault> {
    let unknown = user.filter(|id| people.user(*id).is_none());
    require_known(unknown.map(|id| id.0), caller, text, "user", |name| people.nearest_user_name(name, |_| true))
}

/// [`require_known_user`] for projects.
pub fn require_known_project(
    people: &PeopleDirectory,
    caller: &Caller,
    project: Option<ProjectId>,
    text: Option<&str>,
) -> Result<(), Fault> {
    let unknown = project.filter(|id| people.project(*id).is_none());
    require_known(unknown.map(|id| id.0), caller, text, "project", |name| people.nearest_project_name(name, |_| true))
}

fn require_known(
    unknown: Option<Uuid>,
    caller: &Caller,
    text: Option<&str>,
    what: &str,
    nearest: impl FnOnce(&str) -> Option<Arc<str>>,
) -> Result<(), Fault> {
    let Some((unknown, name)) = unknown.zip(text) else { return Ok(()) };
    if is_text_of_id(name, unknown) || !sees_all_people(caller) {
        return Ok(());
    }
    let code = if what == "user" { "unknown_user" } else { "unknown_project" };
    let hint = nearest(name).map(|known| nearest_name_hint(&known)).unwrap_or_default();
    Err(Fault::new(format!("/{what}"), code, format!("there is no {what} {name:?}{hint}")))
}

/// True for callers that see the people of all groups.
pub fn sees_all_people(caller: &Caller) -> bool {
    caller.only_user().is_none() && caller.principal.groups.is_none()
}
