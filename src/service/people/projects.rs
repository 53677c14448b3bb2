//! Projects: they can be created before their first kernel, named, put into a domain, and archived.

use std::sync::Arc;

use serde_json::{Value, json};

use super::change::{KeyUpdate, PeopleWrite, PersonRow, all_good, archive, check_display_name, check_free, check_name};
use super::list::{PeopleFilter, PeopleList};
use super::{Domain, Project};
use crate::domain::identity;
use crate::domain::ids::ProjectId;
use crate::domain::time::Timestamp;
use crate::engine::group::snapshots::rows::RankedRows;
use crate::engine::people::PeopleDirectory;
use crate::engine::work::run_to_completion;
use crate::service::input::page::Page;
use crate::service::{Caller, Error, Fault, Result, Service};
use crate::store::people::PeopleRows;

/// The changes that an admin requests for a project; absent keys stay as they are.
#[derive(Clone, Debug, Default)]
pub struct ProjectChange {
    pub name: KeyUpdate<String>,
    pub display_name: KeyUpdate<String>,
    /// The domain into which the project is put and stays; if cleared, reports may move the project again.
    pub domain_name: KeyUpdate<String>,
    /// True if reports may not move the project; if absent, it follows from `domain_name`.
    pub domain_pinned: Option<bool>,
    pub archived: Option<bool>,
    pub reason: Option<String>,
}

impl ProjectChange {
    fn check(&self, id: ProjectId, people: &PeopleDirectory) -> Result<()> {
        let mut faults: Vec<Fault> = Vec::new();
        let known = people.project(id);
        check_name(&self.name, known.and_then(|project| project.name.as_ref()), &id, identity::project, &mut faults);
        check_display_name(&self.display_name, known.and_then(|project| project.display_name.as_ref()), &mut faults);
        if let KeyUpdate::To(domain) = &self.domain_name
            && let Err(error) = people.check_domain_name(domain)
        {
            faults.push(Fault::about("/domain_name", "invalid_name", error));
        }
        if self.domain_name == KeyUpdate::Clear && self.domain_pinned == Some(true) {
            faults.push(Fault::about("/domain_pinned", "contradiction", "goes with a domain that is named"));
        }
        all_good(faults)
    }

    /// Puts the project into its domain. The time of the move is noted, so that older reports that arrive later do not
    /// undo it.
    fn place(&self, project: &mut Project, now: Timestamp) {
        if let KeyUpdate::To(domain) = &self.domain_name {
            if *project.domain_name != **domain {
                project.domain_name = Arc::from(domain.as_str());
                project.domain_since = project.domain_since.max(now);
            }
            project.domain_pinned = true;
        }
        if self.domain_name == KeyUpdate::Clear {
            project.domain_pinned = false;
        }
        project.domain_pinned = self.domain_pinned.unwrap_or(project.domain_pinned);
    }
}

impl Service {
    /// The name of the list of projects in page cursors.
    pub const PROJECT_LIST: &'static str = "projects";

    /// The projects by shown name, then by id; with `domain` only those of that domain.
    pub async fn projects(
        &self,
        caller: &Caller,
        domain: Option<&str>,
        list: &PeopleList,
    ) -> Result<Page<Arc<Project>>> {
        caller.require_reader()?;
        caller.require_all_groups()?;
        let of_domain = |project: &Project| domain.is_none_or(|domain| *project.domain_name == *domain);
        let found = || {
            let people = self.people();
            let rows =
                people.projects().filter(|project| of_domain(project) && passes_filter(&list.filter, &people, project));
            let rows: Vec<Arc<Project>> = rows.cloned().collect();
            drop(people);
            Ok(list.by_name(Self::PROJECT_LIST, rows, |project| (project.shown(), project.id)))
        };
        let projects = self.people().projects().len();
        self.permits.scan(caller.client(), projects, found).await
    }

    /// The project; `None` if it is unknown.
    pub fn known_project(&self, caller: &Caller, id: ProjectId) -> Result<Option<Arc<Project>>> {
        caller.require_reader()?;
        caller.require_all_groups()?;
        Ok(self.people().project(id).cloned())
    }

    /// Creates or changes a project. Returns it, and true if it is new.
    #[tracing::instrument(
        name = "service.people.projects.put_project",
        level = "debug",
        skip_all,
        err(level = "debug")
    )]
    pub async fn put_project(
        self: &Arc<Self>,
        caller: Caller,
        id: ProjectId,
        change: ProjectChange,
    ) -> Result<(Arc<Project>, bool)> {
        caller.require_admin()?;
        caller.require_all_groups()?;
        change.check(id, &self.people())?;
        let service = Arc::clone(self);
        run_to_completion(async move {
            let write = PeopleWrite::begin(&service, &caller).await?;
            let known = write.read(|people| people.project(id).cloned());
            let mut project =
                known.as_deref().map_or_else(|| new(id, &change, write.now), |known| Ok(known.clone()))?;
            if let KeyUpdate::To(name) = &change.name {
                let by_rule = identity::project(name);
                write.read(|people| {
                    check_free("project", name, id, people.project_called(name), by_rule, |id| is_unnamed(people, id))
                })?;
            }
            change.place(&mut project, write.now);
            change.name.apply(&mut project.name);
            change.display_name.apply(&mut project.display_name);
            archive(&mut project.archived_at, change.archived, write.now);
            let assigned_domain = Some(&project.domain_name)
                .filter(|assigned_domain| write.read(|people| people.domain(assigned_domain).is_none()));
            let domains = assigned_domain
                .map(|assigned_domain| Domain::new(Arc::clone(assigned_domain), write.now))
                .into_iter()
                .collect();
            write.put(known, project, PeopleRows { domains, ..PeopleRows::default() }, change.reason).await
        })
        .await
    }
}

/// A new project. It needs a domain from the beginning.
fn new(id: ProjectId, change: &ProjectChange, now: Timestamp) -> Result<Project> {
    let KeyUpdate::To(domain) = &change.domain_name else {
        return Err(Error::about("/domain_name", "missing_field", "is missing: a new project has one"));
    };
    Ok(Project::new(id, Arc::from(domain.as_str()), Timestamp::EPOCH, now))
}

fn passes_filter(filter: &PeopleFilter, people: &PeopleDirectory, project: &Project) -> bool {
    filter.shows(people.hides_project(project.id), [project.name.as_deref(), project.display_name.as_deref()])
}

fn is_unnamed(people: &PeopleDirectory, id: ProjectId) -> bool {
    people.project(id).is_some_and(|project| project.name.is_none())
}

impl PersonRow for Project {
    const ACTION: &'static str = "project.put";

    fn target(&self) -> String {
        self.id.to_string()
    }

    fn describe(&self) -> Value {
        json!({
            "name": self.name, "display_name": self.display_name, "domain_name": self.domain_name,
            "domain_pinned": self.domain_pinned, "archived": self.archived_at.is_some(),
        })
    }

    fn is_shown(&self, rows: &RankedRows) -> bool {
        rows.project(self.id).is_some()
    }

    fn add_to(self, people: &mut PeopleRows) {
        people.projects.push(self);
    }
}
