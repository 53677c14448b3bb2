//! The names of the users and projects that audit entries refer to by id.

use std::collections::BTreeMap;

use serde_json::Value;

use super::audit_log::AuditEntry;
use crate::domain::ids::{Owner, ProjectId, UserId};
use crate::engine::audit::owner_of;
use crate::engine::people::PeopleDirectory;

/// The names by id, of the target of the entry and of the items that it has changed. Users and projects without a name
/// are left out.
pub fn names_by_id(entry: &AuditEntry, people: &PeopleDirectory) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    if let Some(name) = name_of_target(entry, people) {
        names.insert(entry.target.clone(), name);
    }
    for side in [&entry.before, &entry.after].into_iter().flatten() {
        add(side, people, &mut names);
    }
    names
}

/// Changes of people have a plain id as their target.
fn name_of_target(entry: &AuditEntry, people: &PeopleDirectory) -> Option<String> {
    let name = match entry.action.split_once('.') {
        Some(("user", _)) => people.user_name(UserId(entry.target.parse().ok()?)),
        Some(("project", _)) => people.project_name(ProjectId(entry.target.parse().ok()?)),
        _ => return name(&entry.target, people),
    };
    Some(name?.to_string())
}

/// Adds the ids that are keys of objects.
fn add(value: &Value, people: &PeopleDirectory, names: &mut BTreeMap<String, String>) {
    let Value::Object(map) = value else { return };
    for (key, inner) in map {
        match name(key, people) {
            Some(name) => drop(names.insert(key.clone(), name)),
            None => add(inner, people, names),
        }
    }
}

/// The name of a changed item in sentences: for users and projects their name, if they have one.
pub fn shown_name(label: &str, people: &PeopleDirectory) -> String {
    let kind = label.split(':').next().unwrap_or_default();
    name(label, people).map_or_else(|| label.to_owned(), |name| format!("the {kind} {name}"))
}

fn name(label: &str, people: &PeopleDirectory) -> Option<String> {
    match owner_of(label)? {
        Owner::Domain(_) => None,
        Owner::Project(id) => Some(people.project_name(id)?.to_string()),
        Owner::User(member) => {
            let (user, project) = people.names(member);
            Some(format!("{} in {}", user?, project?))
        }
    }
}
