//! The changes that reports make to people: new users, projects and domains, projects that move, and archived people
//! that are used again.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::archived_owners::foreign_parts;
use super::incoming::{ForeignParts, NamedOwner, OwnerNames};
use crate::domain::ids::{KernelId, Member, ProjectId, UserId};
use crate::domain::kernel::{KernelPhase, KernelReport};
use crate::domain::names::UNKNOWN_DOMAIN;
use crate::domain::time::Timestamp;
use crate::engine::people::PeopleDirectory;
use crate::store::people::{Domain, Project, User};

/// A project that moves to another domain.
pub struct MovedProject {
    pub id: ProjectId,
    pub from: Arc<str>,
    pub to: Arc<str>,
    pub by: Option<KernelId>,
}

/// An entity that is no longer archived, with the action and the target for the audit log.
pub struct RestoredEntity {
    pub action: &'static str,
    pub target: String,
    pub by: KernelId,
}

/// The changes of a batch to people.
#[derive(Default)]
pub struct PeopleChanges {
    pub domains: BTreeMap<Arc<str>, Domain>,
    pub projects: BTreeMap<ProjectId, Project>,
    pub users: BTreeMap<UserId, User>,
    /// Projects of which only a newer start is noted.
    pub starts: BTreeMap<ProjectId, Project>,
    pub moved: Vec<MovedProject>,
    /// Kernels whose reports name no domain.
    without_domain: HashSet<KernelId>,
    /// The kernel that put a project into its present domain.
    movers: BTreeMap<ProjectId, KernelId>,
    pub restored: Vec<RestoredEntity>,
}

impl PeopleChanges {
    pub fn of(people: &PeopleDirectory, taken: &[&NamedOwner], reports: &[&KernelReport], now: Timestamp) -> Self {
        let mut changes = Self { without_domain: without_domain(taken), ..Self::default() };
        for report in reports {
            changes.place(people, taken, report, now);
        }
        for named in taken {
            changes.call(people, named, now);
        }
        changes.settle(people);
        let foreign = foreign_parts(taken);
        for report in reports {
            changes.restore(people, report, foreign.get(&report.id).copied().unwrap_or_default(), now);
        }
        changes
    }

    /// Puts each project into the domain of its newest kernel, so that the order of reports does not matter. A project
    /// without a domain takes the first one that is named, and a report without a domain moves no project.
    fn place(&mut self, people: &PeopleDirectory, taken: &[&NamedOwner], report: &KernelReport, now: Timestamp) {
        let id = report.owner.project;
        // A start in the future must not fix the project until then.
        let start = report.started_at.filter(|_| !self.without_domain.contains(&report.id));
        let since = start.unwrap_or(Timestamp::EPOCH).min(now);
        let newest: (Timestamp, &str) = match (self.projects.get(&id), people.project(id)) {
            (Some(project), _) => (project.domain_since, &project.domain_name),
            (None, Some(project)) => (project.domain_since, &project.domain_name),
            (None, None) => {
                self.projects.insert(id, Project::new(id, Arc::from(report.domain.as_str()), since, now));
                return;
            }
        };
        let moves = newest.1 != report.domain;
        if moves && report.domain == UNKNOWN_DOMAIN {
            return;
        }
        let is_first = moves && newest.1 == UNKNOWN_DOMAIN;
        if is_first || (since, report.domain.as_str()) > newest {
            if moves && !is_first && taken.iter().any(|named| named.kernel == report.id && named.stays) {
                return;
            }
            let project = self.project(people, id, now, &report.domain);
            project.domain_since = since;
            if moves {
                project.domain_name = Arc::from(report.domain.as_str());
                self.movers.insert(id, report.id);
            }
        }
    }

    fn project(&mut self, people: &PeopleDirectory, id: ProjectId, now: Timestamp, domain: &str) -> &mut Project {
        self.projects.entry(id).or_insert_with(|| {
            let known = people.project(id).map(|project| Project::clone(project));
            known.unwrap_or_else(|| Project::new(id, Arc::from(domain), Timestamp::EPOCH, now))
        })
    }

    fn user(&mut self, people: &PeopleDirectory, id: UserId, now: Timestamp) -> &mut User {
        self.users
            .entry(id)
            .or_insert_with(|| people.user(id).map_or_else(|| User::new(id, now), |user| User::clone(user)))
    }

    /// Takes the names of a report. A stored name stays, because only an admin changes it.
    fn call(&mut self, people: &PeopleDirectory, named: &NamedOwner, now: Timestamp) {
        let (user, project) = (named.owner.user, named.owner.project);
        let known = people.user(user);
        let (name, shown) = new_names(
            &named.user,
            known.is_none_or(|known| known.name.is_none()),
            known.and_then(|known| known.display_name.as_deref()),
            known.and_then(|known| known.name.as_deref()),
        );
        if known.is_none() || name.is_some() || shown.is_some() {
            let name = name.filter(|name| people.user_called(name).is_none());
            let row = self.user(people, user, now);
            row.name = row.name.take().or_else(|| name.map(Arc::from));
            row.display_name = shown.map(Arc::from).or_else(|| row.display_name.take());
        }
        // Every new project has come with a kernel.
        let Some((has_name, display, stored)) = self
            .projects
            .get(&project)
            .or_else(|| people.project(project).map(|known| &**known))
            .map(|known| (known.name.is_some(), known.display_name.clone(), known.name.clone()))
        else {
            return;
        };
        let (name, shown) = new_names(&named.project, !has_name, display.as_deref(), stored.as_deref());
        if name.is_some() || shown.is_some() {
            let name = name.filter(|name| people.project_called(name).is_none());
            let row = self.project(people, project, now, "");
            row.name = row.name.take().or_else(|| name.map(Arc::from));
            row.display_name = shown.map(Arc::from).or_else(|| row.display_name.take());
        }
    }

    /// Separates projects without a change, projects of which only a start is noted, and projects that move.
    fn settle(&mut self, people: &PeopleDirectory) {
        let projects = std::mem::take(&mut self.projects);
        for (id, mut project) in projects {
            let Some(known) = people.project(id) else {
                self.projects.insert(id, project);
                continue;
            };
            if known.domain_pinned {
                project.domain_name = Arc::clone(&known.domain_name);
            }
            if project.domain_name != known.domain_name {
                let (from, to) = (Arc::clone(&known.domain_name), Arc::clone(&project.domain_name));
                self.moved.push(MovedProject { id, from, to, by: self.movers.get(&id).copied() });
            }
            if project == **known {
                continue;
            }
            let unnoted = Project { domain_since: known.domain_since, ..project.clone() };
            let kind = if unnoted == **known { &mut self.starts } else { &mut self.projects };
            kind.insert(id, project);
        }
        self.users.retain(|id, user| people.user(*id).is_none_or(|known| **known != *user));
    }

    /// Ends the archiving of a user, project or domain that is used again, unless it is foreign to the sender.
    fn restore(&mut self, people: &PeopleDirectory, report: &KernelReport, foreign: ForeignParts, now: Timestamp) {
        let used_after = |archived_at: Option<Timestamp>| {
            let ended = (report.phase == KernelPhase::Terminated).then_some(report.terminated_at).flatten();
            archived_at.is_some_and(|archived_at| ended.is_none_or(|ended| ended > archived_at))
        };
        let Member { user, project } = report.owner;
        if !foreign.user && people.user(user).is_some_and(|known| used_after(known.archived_at)) {
            let row = self.user(people, user, now);
            if row.archived_at.take().is_some() {
                self.restored.push(RestoredEntity { action: "user.restored", target: user.to_string(), by: report.id });
            }
        }
        if !foreign.project && people.project(project).is_some_and(|known| used_after(known.archived_at)) {
            let row = self.project(people, project, now, &report.domain);
            if row.archived_at.take().is_some() {
                let target = project.to_string();
                self.restored.push(RestoredEntity { action: "project.restored", target, by: report.id });
            }
        }
        let assigned_domain = self.projects.get(&project).map(|row| &row.domain_name);
        let assigned_domain =
            assigned_domain.or_else(|| people.project(project).map(|known| &known.domain_name)).cloned();
        for name in assigned_domain.iter().map(|assigned_domain| &**assigned_domain).chain([report.domain.as_str()]) {
            if self.domains.contains_key(name) {
                continue;
            }
            match people.domain(name) {
                None => {
                    let name: Arc<str> = Arc::from(name);
                    self.domains.insert(Arc::clone(&name), Domain::new(name, now));
                }
                Some(known) if !foreign.domain && used_after(known.archived_at) => {
                    let row = Domain { archived_at: None, ..Domain::clone(known) };
                    self.domains.insert(Arc::clone(&known.name), row);
                    self.restored.push(RestoredEntity {
                        action: "domain.restored",
                        target: name.to_owned(),
                        by: report.id,
                    });
                }
                Some(_) => {}
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.domains.is_empty() && self.projects.is_empty() && self.users.is_empty()
    }
}

/// The kernels for which no report of the batch names a domain.
fn without_domain(taken: &[&NamedOwner]) -> HashSet<KernelId> {
    let mut kernels: HashSet<KernelId> =
        taken.iter().filter(|named| !named.has_domain).map(|named| named.kernel).collect();
    if !kernels.is_empty() {
        for named in taken.iter().filter(|named| named.has_domain) {
            kernels.remove(&named.kernel);
        }
    }
    kernels
}

/// The new names in a report.
fn new_names<'a>(
    given_names: &'a OwnerNames,
    is_unnamed: bool,
    display: Option<&str>,
    stored: Option<&str>,
) -> (Option<&'a str>, Option<&'a str>) {
    let name = given_names.name.as_deref().filter(|_| is_unnamed);
    let shown = given_names.display_name.as_deref().filter(|new| Some(*new) != display && Some(*new) != stored);
    (name, shown)
}
