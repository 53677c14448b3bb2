//! Projects: created ahead of their first kernel, named, put into a domain, archived.

use std::sync::Arc;

use serde_json::{Value, json};

use super::change::{Entry, Set, Write, all_good, archive, check_display_name, check_name, taken};
use super::list::{PeopleFilter, PeopleList};
use super::{Directory, Domain, Project};
use crate::domain::identity;
use crate::domain::ids::ProjectId;
use crate::domain::names;
use crate::domain::time::Timestamp;
use crate::service::input::page::{Key, Page};
use crate::service::work::detached;
use crate::service::{Caller, Error, Fault, Result, Service};
use crate::store::people::People;

/// What an admin wants of a project; keys that are left out stay as they are.
#[derive(Clone, Debug, Default)]
pub struct ProjectChange {
    pub name: Set<String>,
    pub display_name: Set<String>,
    /// Where it is put, and stays; cleared: reports may move it again.
    pub domain_name: Set<String>,
    /// Whether reports may not move it; as `domain_name` says unless given.
    pub domain_pinned: Option<bool>,
    pub archived: Option<bool>,
    pub reason: Option<String>,
}

impl ProjectChange {
    fn check(&self) -> Result<()> {
        let mut faults: Vec<Fault> = Vec::new();
        check_name(&self.name, &mut faults);
        check_display_name(&self.display_name, &mut faults);
        if let Set::To(domain) = &self.domain_name
            && let Err(error) = names::check_name(domain)
        {
            faults.push(Fault::about("/domain_name", "invalid_name", error));
        }
        if self.domain_name == Set::Clear && self.domain_pinned == Some(true) {
            faults.push(Fault::about("/domain_pinned", "contradiction", "goes with a domain that is named"));
        }
        all_good(faults)
    }

    /// Puts the project into its domain. The time of the move outlives older reports that are still to come.
    fn place(&self, project: &mut Project, now: Timestamp) {
        if let Set::To(domain) = &self.domain_name {
            if *project.domain_name != **domain {
                project.domain_name = Arc::from(domain.as_str());
                project.domain_since = project.domain_since.max(now);
            }
            project.domain_pinned = true;
        }
        if self.domain_name == Set::Clear {
            project.domain_pinned = false;
        }
        project.domain_pinned = self.domain_pinned.unwrap_or(project.domain_pinned);
    }
}

impl Service {
    /// The name in cursors of the projects.
    pub const PROJECT_LIST: &'static str = "projects";

    /// By what is shown of them, then by id; with `domain` those of one domain.
    pub fn projects(&self, caller: &Caller, domain: Option<&str>, list: &PeopleList) -> Result<Page<Arc<Project>>> {
        caller.require_reader()?;
        caller.require_all_groups()?;
        let people = self.people();
        let of_domain = |project: &Project| domain.is_none_or(|domain| *project.domain_name == *domain);
        let rows = people.projects().filter(|project| of_domain(project) && shows(&list.filter, &people, project));
        Ok(list.page(Self::PROJECT_LIST, rows.cloned().collect(), |project| {
            let name = project.shown().map_or_else(|| project.id.to_string(), ToString::to_string);
            vec![Key::Text(name), Key::Text(project.id.to_string())]
        }))
    }

    /// `None`: nobody knows the project.
    pub fn known_project(&self, caller: &Caller, id: ProjectId) -> Result<Option<Arc<Project>>> {
        caller.require_reader()?;
        caller.require_all_groups()?;
        Ok(self.people().project(id).cloned())
    }

    /// Creates or changes a project. Returns it and whether it is new.
    pub async fn put_project(
        self: &Arc<Self>,
        caller: Caller,
        id: ProjectId,
        change: ProjectChange,
    ) -> Result<(Arc<Project>, bool)> {
        caller.require_admin()?;
        caller.require_all_groups()?;
        change.check()?;
        let service = Arc::clone(self);
        detached(async move {
            let write = Write::begin(&service, &caller).await?;
            let known = write.read(|people| people.project(id).cloned());
            let mut project =
                known.as_deref().map_or_else(|| new(id, &change, write.now), |known| Ok(known.clone()))?;
            if let Set::To(name) = &change.name {
                write.read(|people| check_free(people, id, name))?;
            }
            change.place(&mut project, write.now);
            change.name.apply(&mut project.name);
            change.display_name.apply(&mut project.display_name);
            archive(&mut project.archived_at, change.archived, write.now);
            if let Some(known) = known.as_ref().filter(|known| ***known == project) {
                return Ok((Arc::clone(known), false));
            }
            let home = Some(&project.domain_name).filter(|home| write.read(|people| people.domain(home).is_none()));
            let domains = home.map(|home| Domain::new(Arc::clone(home), write.now)).into_iter().collect();
            let entry = Entry {
                action: "project.put",
                target: id.to_string(),
                before: known.as_deref().map(describe),
                after: describe(&project),
                reason: change.reason,
            };
            let rows = People { domains, projects: vec![project.clone()], users: Vec::new() };
            write.commit(rows, entry, |group| group.project(id).is_some()).await?;
            Ok((Arc::new(project), known.is_none()))
        })
        .await
    }
}

/// A project is in a domain from the beginning.
fn new(id: ProjectId, change: &ProjectChange, now: Timestamp) -> Result<Project> {
    let Set::To(domain) = &change.domain_name else {
        return Err(Error::about("/domain_name", "missing_field", "is missing: a new project has one"));
    };
    Ok(Project::new(id, Arc::from(domain.as_str()), Timestamp::EPOCH, now))
}

fn shows(filter: &PeopleFilter, people: &Directory, project: &Project) -> bool {
    filter.shows(people.hides_project(project.id), [project.name.as_deref(), project.display_name.as_deref()])
}

/// A name belongs to one project, whether it is stored or only the one that the project's id follows from.
fn check_free(people: &Directory, id: ProjectId, name: &str) -> Result<()> {
    let holder = people.project_called(name).filter(|holder| *holder != id);
    let by_rule = Some(identity::project(name)).filter(|by_rule| *by_rule != id);
    let unnamed = by_rule.filter(|by_rule| people.project(*by_rule).is_some_and(|project| project.name.is_none()));
    holder.or(unnamed).map_or(Ok(()), |holder| Err(taken("project", name, holder)))
}

fn describe(project: &Project) -> Value {
    json!({
        "name": project.name, "display_name": project.display_name, "domain_name": project.domain_name,
        "domain_pinned": project.domain_pinned, "archived": project.archived_at.is_some(),
    })
}
