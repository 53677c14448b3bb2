//! Whom a request means: a UUID, or a name in its place.

use uuid::Uuid;

use super::Directory;
use super::directory::Ambiguous;
use crate::domain::identity::check_label;
use crate::domain::ids::{ProjectId, UserId};
use crate::service::{Caller, Fault};

type Found<T> = Result<T, Fault>;

/// The user whom `user_uuid` or `user` means: exactly one of them is there.
pub fn user(people: &Directory, id: Option<UserId>, name: Option<&str>) -> Found<UserId> {
    some_user(people, id, name)?.ok_or_else(|| missing("/user_uuid", "user_uuid", "user"))
}

/// The project that `project_id` or `project` means: exactly one of them is there.
pub fn project(people: &Directory, id: Option<ProjectId>, name: Option<&str>) -> Found<ProjectId> {
    some_project(people, id, name)?.ok_or_else(|| missing("/project_id", "project_id", "project"))
}

/// The user whom a text means: a UUID, or a name.
pub fn user_of_text(people: &Directory, text: &str, pointer: &str) -> Found<UserId> {
    match text.parse() {
        Ok(id) => Ok(id),
        Err(_) => called(pointer, text, |name| people.find_user(name)),
    }
}

/// The project that a text means: a UUID, or a name.
pub fn project_of_text(people: &Directory, text: &str, pointer: &str) -> Found<ProjectId> {
    match text.parse() {
        Ok(id) => Ok(id),
        Err(_) => called(pointer, text, |name| people.find_project(name)),
    }
}

/// Refuses the name of a user whom the server does not know, for callers who look for what there is: it is a slip of
/// the keys, mostly. A key that sees only its own user's rows is not told which names there are.
pub fn require_known_user(people: &Directory, caller: &Caller, user: Option<UserId>, text: Option<&str>) -> Found<()> {
    let is_known = user.is_none_or(|id| people.user(id).is_some());
    require_known(is_known, caller, text, "user")
}

/// [`require_known_user`] for projects.
pub fn require_known_project(
    people: &Directory,
    caller: &Caller,
    project: Option<ProjectId>,
    text: Option<&str>,
) -> Found<()> {
    let is_known = project.is_none_or(|id| people.project(id).is_some());
    require_known(is_known, caller, text, "project")
}

fn require_known(is_known: bool, caller: &Caller, text: Option<&str>, what: &str) -> Found<()> {
    match text.filter(|text| text.parse::<Uuid>().is_err()) {
        Some(name) if !is_known && caller.only_user().is_none() => {
            let code = if what == "user" { "unknown_user" } else { "unknown_project" };
            Err(Fault::new(format!("/{what}"), code, format!("there is no {what} {name:?}")))
        }
        _ => Ok(()),
    }
}

/// The user whom `user_uuid` or `user` means, where a request may leave both out.
pub fn some_user(people: &Directory, id: Option<UserId>, name: Option<&str>) -> Found<Option<UserId>> {
    match (id, name) {
        (Some(_), Some(_)) => Err(both("/user", "user", "user_uuid")),
        (Some(id), None) => Ok(Some(id)),
        (None, Some(name)) => called("/user", name, |name| people.find_user(name)).map(Some),
        (None, None) => Ok(None),
    }
}

/// The project that `project_id` or `project` means, where a request may leave both out.
pub fn some_project(people: &Directory, id: Option<ProjectId>, name: Option<&str>) -> Found<Option<ProjectId>> {
    match (id, name) {
        (Some(_), Some(_)) => Err(both("/project", "project", "project_id")),
        (Some(id), None) => Ok(Some(id)),
        (None, Some(name)) => called("/project", name, |name| people.find_project(name)).map(Some),
        (None, None) => Ok(None),
    }
}

fn called<T>(pointer: impl Into<String>, name: &str, find: impl FnOnce(&str) -> Result<T, Ambiguous>) -> Found<T> {
    let pointer = pointer.into();
    if let Err(error) = check_label(name) {
        return Err(Fault::about(pointer, "invalid_name", error));
    }
    find(name).map_err(|ambiguous| ambiguous.fault(pointer, name))
}

/// A name beside the UUID: one of them would be ignored.
pub fn both(pointer: impl Into<String>, name: &str, id: &str) -> Fault {
    Fault::new(pointer, "give_one", format!("`{name}` and `{id}` name the same thing: only one of them can be given"))
}

fn missing(pointer: &str, id: &str, name: &str) -> Fault {
    Fault::new(pointer, "missing_field", format!("`{id}` is missing; the name may stand instead, as `{name}`"))
}
