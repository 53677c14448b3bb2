//! Whom a request means: a UUID, or a name in its place.

use super::Directory;
use super::directory::Ambiguous;
use crate::domain::identity::check_label;
use crate::domain::ids::{ProjectId, UserId};
use crate::service::Fault;

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
