//! Resolves the user or project of a request, which gives a UUID or a name.

use uuid::Uuid;

use super::PeopleDirectory;
use super::resolution::{AmbiguousName, is_text_of_id};
use crate::domain::identity::reads_as_uuid;
use crate::domain::ids::{ProjectId, UserId};
use crate::domain::names::check_label;
use crate::engine::error::Fault;

type LookupResult<T> = Result<T, Fault>;

/// The user that `user_uuid` or `user` names: exactly one of them must be given.
pub fn user(people: &PeopleDirectory, id: Option<UserId>, name: Option<&str>) -> LookupResult<UserId> {
    some_user(people, id, name)?.ok_or_else(|| missing_parameter("/user_uuid", "user_uuid", "user"))
}

/// The project that `project_id` or `project` names: exactly one of them must be given.
pub fn project(people: &PeopleDirectory, id: Option<ProjectId>, name: Option<&str>) -> LookupResult<ProjectId> {
    some_project(people, id, name)?.ok_or_else(|| missing_parameter("/project_id", "project_id", "project"))
}

/// The user that a text names by UUID or name.
pub fn user_of_text(people: &PeopleDirectory, text: &str, pointer: &str) -> LookupResult<UserId> {
    look_up_name(pointer, text, people.user_called(text).is_some(), |text| people.find_user_or_id(text))
}

/// The project that a text names by UUID or name.
pub fn project_of_text(people: &PeopleDirectory, text: &str, pointer: &str) -> LookupResult<ProjectId> {
    look_up_name(pointer, text, people.project_called(text).is_some(), |text| people.find_project_or_id(text))
}

/// The user whose UUID a text is; any other text is refused. A user whose stored name equals the text comes first.
pub fn user_of_uuid_text(people: &PeopleDirectory, text: &str, pointer: &str) -> LookupResult<UserId> {
    require_uuid(text, pointer)?;
    user_of_text(people, text, pointer)
}

/// [`user_of_uuid_text`] for projects.
pub fn project_of_uuid_text(people: &PeopleDirectory, text: &str, pointer: &str) -> LookupResult<ProjectId> {
    require_uuid(text, pointer)?;
    project_of_text(people, text, pointer)
}

fn require_uuid(text: &str, pointer: &str) -> LookupResult<()> {
    if reads_as_uuid(text) { Ok(()) } else { Err(Fault::about(pointer, "invalid_uuid", "is not a UUID")) }
}

/// The end of a message about an unknown name.
pub fn nearest_name_hint(known: &str) -> String {
    format!("; the nearest known name is {known:?}")
}

/// The name that a report gives to the user or project `id`. A text that only repeats the UUID is no name.
pub fn name_given_to(id: Uuid, text: Option<String>) -> Option<String> {
    text.filter(|text| !is_text_of_id(text, id))
}

/// The user that `user_uuid` or `user` names, where a request may leave both out.
pub fn some_user(people: &PeopleDirectory, id: Option<UserId>, name: Option<&str>) -> LookupResult<Option<UserId>> {
    match (id, name) {
        (Some(_), Some(_)) => Err(reject_both("/user", "user", "user_uuid")),
        (Some(id), None) => Ok(Some(id)),
        (None, Some(name)) => {
            look_up_name("/user", name, people.user_called(name).is_some(), |name| people.find_user(name)).map(Some)
        }
        (None, None) => Ok(None),
    }
}

/// The project that `project_id` or `project` names, where a request may leave both out.
pub fn some_project(
    people: &PeopleDirectory,
    id: Option<ProjectId>,
    name: Option<&str>,
) -> LookupResult<Option<ProjectId>> {
    match (id, name) {
        (Some(_), Some(_)) => Err(reject_both("/project", "project", "project_id")),
        (Some(id), None) => Ok(Some(id)),
        (None, Some(name)) => {
            look_up_name("/project", name, people.project_called(name).is_some(), |name| people.find_project(name))
                .map(Some)
        }
        (None, None) => Ok(None),
    }
}

/// Looks up a name. A stored name is found even if a newer rule for names would refuse it.
fn look_up_name<T>(
    pointer: impl Into<String>,
    name: &str,
    is_stored: bool,
    find: impl FnOnce(&str) -> Result<T, AmbiguousName>,
) -> LookupResult<T> {
    let pointer = pointer.into();
    if !is_stored && let Err(error) = check_label(name) {
        return Err(Fault::about(pointer, "invalid_name", error));
    }
    find(name).map_err(|ambiguous| ambiguous.fault(pointer, name))
}

/// Refuses a name beside a UUID, because one of them would be ignored.
pub fn reject_both(pointer: impl Into<String>, name: &str, id: &str) -> Fault {
    Fault::new(pointer, "give_one", format!("`{name}` and `{id}` name the same thing: only one of them can be given"))
}

fn missing_parameter(pointer: &str, id: &str, name: &str) -> Fault {
    Fault::new(pointer, "missing_field", format!("`{id}` is missing; the name may stand instead, as `{name}`"))
}
