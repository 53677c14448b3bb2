//! Errors in the words of a request: an error about an entity that the request named shows that name in place of its id.

use super::known_names::sees_all_people;
use crate::engine::people::is_text_of_id;
use crate::engine::people::{PeopleDirectory, lookup};
use crate::service::{Caller, Error, Fault};

/// The kind of entity that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameKind {
    Domain,
    User,
    Project,
}

/// One name in a request.
#[derive(Clone, Debug)]
struct GivenName {
    /// The pointer of the object that contains the name, empty for parameters.
    place: String,
    /// The key that would contain the id.
    by_id: &'static str,
    kind: NameKind,
    text: String,
}

/// The names of domains, users and projects in a request.
#[derive(Clone, Debug, Default)]
pub struct RequestNames {
    names: Vec<GivenName>,
    /// True if the answer may suggest the nearest name that the server knows.
    suggests_names: bool,
}

impl RequestNames {
    /// Collects the names in a request of `caller`. Callers that see all people get the nearest name where a name is
    /// unknown.
    pub fn by(caller: &Caller) -> Self {
        Self { names: Vec::new(), suggests_names: sees_all_people(caller) }
    }

    /// Notes the name of a user, if there is one, in place of the UUID under `by_id`.
    pub fn user(&mut self, place: &str, by_id: &'static str, name: Option<&str>) {
        self.note(place, by_id, NameKind::User, name);
    }

    /// [`Self::user`] for domains, whose ids are their names.
    pub fn domain(&mut self, place: &str, by_id: &'static str, name: Option<&str>) {
        self.note(place, by_id, NameKind::Domain, name);
    }

    /// [`Self::user`] for projects.
    pub fn project(&mut self, place: &str, by_id: &'static str, name: Option<&str>) {
        self.note(place, by_id, NameKind::Project, name);
    }

    fn note(&mut self, place: &str, by_id: &'static str, kind: NameKind, name: Option<&str>) {
        if let Some(name) = name {
            self.names.push(GivenName { place: place.to_owned(), by_id, kind, text: name.to_owned() });
        }
    }

    /// The same error with the names in place of the ids that they stand for.
    pub fn with_given_names(&self, error: Error, people: &PeopleDirectory) -> Error {
        match error {
            Error::Invalid(faults) => {
                Error::Invalid(faults.into_iter().map(|fault| self.retell_fault(fault, people)).collect())
            }
            Error::NotFound { code, detail } => {
                let detail = self.names.iter().fold(detail, |detail, name| name.put_into(&detail, people));
                let hint = self.nearest(code, people).unwrap_or_default();
                Error::NotFound { code, detail: detail + &hint }
            }
            error => error,
        }
    }

    /// The known name that is nearest to the unknown one.
    fn nearest(&self, code: &str, people: &PeopleDirectory) -> Option<String> {
        let of_kind = |kind| self.names.iter().find(|name| name.kind == kind).filter(|_| self.suggests_names);
        let known = match code {
            "unknown_user" => people.nearest_user_name(&of_kind(NameKind::User)?.text, |_| true),
            "unknown_project" => people.nearest_project_name(&of_kind(NameKind::Project)?.text, |_| true),
            _ => None,
        };
        Some(lookup::nearest_name_hint(&known?))
    }

    fn retell_fault(&self, mut fault: Fault, people: &PeopleDirectory) -> Fault {
        for name in &self.names {
            let Some(key) = fault.pointer.strip_prefix(&name.place).and_then(|rest| rest.strip_prefix('/')) else {
                continue;
            };
            let renamed_detail = name.put_into(&fault.detail, people);
            if key == name.by_id {
                let given = name.kind.key();
                fault.detail = renamed_detail.replace(&format!("`{}`", name.by_id), &format!("`{given}`"));
                fault.pointer = format!("{}/{given}", name.place);
            } else {
                fault.detail = renamed_detail;
            }
        }
        fault
    }
}

impl NameKind {
    fn key(self) -> &'static str {
        match self {
            Self::Domain => "domain_name",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

impl GivenName {
    fn put_into(&self, detail: &str, people: &PeopleDirectory) -> String {
        let id = match self.kind {
            NameKind::Domain => return detail.to_owned(),
            NameKind::User => people.find_user(&self.text).map(|id| id.0),
            NameKind::Project => people.find_project(&self.text).map(|id| id.0),
        };
        // A UUID stays as it is, because quotes around it would show that the server knows it.
        let id = id.ok().filter(|id| !is_text_of_id(&self.text, *id));
        id.map_or_else(|| detail.to_owned(), |id| detail.replace(&id.to_string(), &format!("{:?}", self.text)))
    }
}
