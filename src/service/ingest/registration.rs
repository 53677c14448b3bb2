//! What reports say about people: users, projects and domains are created by being named, projects move, and those that
//! are archived come back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;

use super::incoming::{Refused, Told};
use crate::domain::ids::{KernelId, Member, ProjectId, UserId};
use crate::domain::kernel::{Kernel, Phase, Report};
use crate::domain::time::Timestamp;
use crate::service::audit::Change;
use crate::service::group::session::{PeopleLock, Session};
use crate::service::people::Directory;
use crate::service::{Caller, Fault, Result};
use crate::store;
use crate::store::people::{Domain, People, Project, User};

/// Whom a report names, and how.
#[derive(Clone, Debug)]
pub struct Named {
    pub kernel: KernelId,
    pub owner: Member,
    pub user: Told,
    pub project: Told,
    /// The report tells the project by name, and so cannot move it to another domain.
    pub stays: bool,
    /// The place of the delivery that the report came with.
    pub part: usize,
}

/// Something about a batch that was taken all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    pub code: &'static str,
    pub detail: String,
    pub project: ProjectId,
    /// How many reports it is about.
    pub kernels: u64,
}

/// A report that was taken in another domain than it says.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The place in the batch.
    pub at: usize,
    pub project: ProjectId,
    pub told: String,
}

/// Reports with their places in the batch.
pub type Placed = Vec<(usize, Report)>;

/// Settles which domain each report is for: a project that an admin put into a domain stays there, and one that is told
/// by name is refused in another than its own.
pub fn settle_domains(people: &Directory, names: &[Named], reports: Vec<Report>) -> (Placed, Vec<Refused>, Vec<Kept>) {
    let (mut kept, mut refused) = (Vec::with_capacity(reports.len()), Vec::new());
    let mut coming: BTreeMap<ProjectId, String> = BTreeMap::new();
    let mut elsewhere = Vec::new();
    for (at, (mut report, named)) in reports.into_iter().zip(names).enumerate() {
        let id = report.owner.project;
        let known = people.project(id);
        let current: Option<&str> = match known {
            Some(project) => Some(&project.domain_name),
            None => coming.get(&id).map(String::as_str),
        };
        match current.filter(|current| **current != report.domain) {
            Some(current) if known.is_some_and(|project| project.domain_pinned) => {
                let told = std::mem::replace(&mut report.domain, current.to_owned());
                elsewhere.push(Kept { at, project: id, told });
            }
            Some(current) if named.stays => {
                let name = named.project.name.as_deref().unwrap_or_default();
                let detail = format!(
                    "the project {name:?} is in the domain {current:?}, and a report that names it cannot move it to {:?}",
                    report.domain
                );
                refused.push(Refused { at, fault: Fault::new("/domain_name", "project_in_other_domain", detail) });
                continue;
            }
            _ => {}
        }
        if known.is_none() {
            coming.entry(id).or_insert_with(|| report.domain.clone());
        }
        kept.push((at, report));
    }
    (kept, refused, elsewhere)
}

/// One warning for each project and domain that reports have named.
pub fn warnings<'a>(people: &Directory, kept: impl Iterator<Item = &'a Kept>) -> Vec<Warning> {
    let mut counts: BTreeMap<(ProjectId, &str), u64> = BTreeMap::new();
    for Kept { project, told, .. } in kept {
        *counts.entry((*project, told)).or_default() += 1;
    }
    let warning = |((id, told), kernels): ((ProjectId, &str), u64)| {
        let project = people.project(id).map(|project| Arc::clone(&project.domain_name)).unwrap_or_default();
        let detail =
            format!("an admin has put the project into the domain {project:?}: reports for {told:?} count there");
        Warning { code: "domain_pinned", detail, project: id, kernels }
    };
    counts.into_iter().map(warning).collect()
}

/// A project that goes to another domain.
struct Moved {
    id: ProjectId,
    from: Arc<str>,
    to: Arc<str>,
    by: Option<KernelId>,
}

/// Who is archived no longer, as the audit log names the action and the target.
struct Restored {
    action: &'static str,
    target: String,
    by: KernelId,
}

/// What a batch changes of people.
#[derive(Default)]
struct Changes {
    domains: BTreeMap<Arc<str>, Domain>,
    projects: BTreeMap<ProjectId, Project>,
    users: BTreeMap<UserId, User>,
    /// Projects of which only a newer start is noted.
    starts: BTreeMap<ProjectId, Project>,
    moved: Vec<Moved>,
    /// The kernel that put a project where it is now.
    movers: BTreeMap<ProjectId, KernelId>,
    restored: Vec<Restored>,
}

impl Changes {
    fn of(people: &Directory, taken: &[&Named], merged: &[(Option<Kernel>, Kernel)], now: Timestamp) -> Self {
        let mut changes = Self::default();
        for (_, kernel) in merged {
            changes.place(people, taken, &kernel.report, now);
        }
        for named in taken {
            changes.call(people, named, now);
        }
        changes.settle(people);
        for (_, kernel) in merged {
            changes.restore(people, &kernel.report, now);
        }
        changes
    }

    /// Each project goes to the domain of its newest kernel, so that reports in any order agree.
    fn place(&mut self, people: &Directory, taken: &[&Named], report: &Report, now: Timestamp) {
        let id = report.owner.project;
        // A start that lies ahead must not keep the project until then.
        let since = report.started_at.unwrap_or(Timestamp::EPOCH).min(now);
        let newest: (Timestamp, &str) = match (self.projects.get(&id), people.project(id)) {
            (Some(project), _) => (project.domain_since, &project.domain_name),
            (None, Some(project)) => (project.domain_since, &project.domain_name),
            (None, None) => {
                self.projects.insert(id, Project::new(id, Arc::from(report.domain.as_str()), since, now));
                return;
            }
        };
        let moves = newest.1 != report.domain;
        if (since, report.domain.as_str()) > newest {
            if moves && taken.iter().any(|named| named.kernel == report.id && named.stays) {
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

    fn project(&mut self, people: &Directory, id: ProjectId, now: Timestamp, domain: &str) -> &mut Project {
        self.projects.entry(id).or_insert_with(|| {
            let known = people.project(id).map(|project| Project::clone(project));
            known.unwrap_or_else(|| Project::new(id, Arc::from(domain), Timestamp::EPOCH, now))
        })
    }

    fn user(&mut self, people: &Directory, id: UserId, now: Timestamp) -> &mut User {
        self.users
            .entry(id)
            .or_insert_with(|| people.user(id).map_or_else(|| User::new(id, now), |user| User::clone(user)))
    }

    /// Takes the names of a report. A name that is stored stays: only an admin changes it.
    fn call(&mut self, people: &Directory, named: &Named, now: Timestamp) {
        let (user, project) = (named.owner.user, named.owner.project);
        let known = people.user(user);
        let (name, shown) = fresh(
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
        // Every project that is new has come with a kernel.
        let Some((has_name, display, stored)) = self
            .projects
            .get(&project)
            .or_else(|| people.project(project).map(|known| &**known))
            .map(|known| (known.name.is_some(), known.display_name.clone(), known.name.clone()))
        else {
            return;
        };
        let (name, shown) = fresh(&named.project, !has_name, display.as_deref(), stored.as_deref());
        if name.is_some() || shown.is_some() {
            let name = name.filter(|name| people.project_called(name).is_none());
            let row = self.project(people, project, now, "");
            row.name = row.name.take().or_else(|| name.map(Arc::from));
            row.display_name = shown.map(Arc::from).or_else(|| row.display_name.take());
        }
    }

    /// Sorts out what is no change, what only notes a start, and what moves.
    fn settle(&mut self, people: &Directory) {
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
                self.moved.push(Moved { id, from, to, by: self.movers.get(&id).copied() });
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

    /// A user, project or domain that is used again is archived no longer.
    fn restore(&mut self, people: &Directory, report: &Report, now: Timestamp) {
        let used_after = |archived_at: Option<Timestamp>| {
            let ended = (report.phase == Phase::Terminated).then_some(report.terminated_at).flatten();
            archived_at.is_some_and(|archived_at| ended.is_none_or(|ended| ended > archived_at))
        };
        let Member { user, project } = report.owner;
        if people.user(user).is_some_and(|known| used_after(known.archived_at)) {
            let row = self.user(people, user, now);
            if row.archived_at.take().is_some() {
                self.restored.push(Restored { action: "user.restored", target: user.to_string(), by: report.id });
            }
        }
        if people.project(project).is_some_and(|known| used_after(known.archived_at)) {
            let row = self.project(people, project, now, &report.domain);
            if row.archived_at.take().is_some() {
                let target = project.to_string();
                self.restored.push(Restored { action: "project.restored", target, by: report.id });
            }
        }
        let home = self.projects.get(&project).map(|row| &row.domain_name);
        let home = home.or_else(|| people.project(project).map(|known| &known.domain_name)).cloned();
        for name in home.iter().map(|home| &**home).chain([report.domain.as_str()]) {
            if self.domains.contains_key(name) {
                continue;
            }
            match people.domain(name) {
                None => {
                    let name: Arc<str> = Arc::from(name);
                    self.domains.insert(Arc::clone(&name), Domain::new(name, now));
                }
                Some(known) if used_after(known.archived_at) => {
                    let row = Domain { archived_at: None, ..Domain::clone(known) };
                    self.domains.insert(Arc::clone(&known.name), row);
                    self.restored.push(Restored { action: "domain.restored", target: name.to_owned(), by: report.id });
                }
                Some(_) => {}
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.domains.is_empty() && self.projects.is_empty() && self.users.is_empty()
    }
}

/// What of a report's names is new.
fn fresh<'a>(
    told: &'a Told,
    is_unnamed: bool,
    display: Option<&str>,
    stored: Option<&str>,
) -> (Option<&'a str>, Option<&'a str>) {
    let name = told.name.as_deref().filter(|_| is_unnamed);
    let shown = told.display_name.as_deref().filter(|new| Some(*new) != display && Some(*new) != stored);
    (name, shown)
}

/// Makes known whom the reports that were taken name, by the names that they give; `callers` are those of the parts.
/// Returns whether that changed anything.
pub async fn register(
    session: &mut Session,
    callers: &[&Caller],
    taken: &[&Named],
    merged: &[(Option<Kernel>, Kernel)],
) -> Result<bool> {
    let mut changes = Changes::of(&session.people(), taken, merged, session.now);
    let mut lock = None;
    if !changes.is_empty() {
        lock = Some(session.lock_people().await?);
        // Other processes may have named the same people meanwhile.
        changes = Changes::of(&session.people(), taken, merged, session.now);
    }
    let hierarchy = &session.state().hierarchy;
    let owners = merged.iter().map(|(_, kernel)| kernel.report.owner);
    let members: BTreeSet<Member> = owners.filter(|member| !hierarchy.users.contains_key(member)).collect();
    let domains = merged.iter().map(|(_, kernel)| kernel.report.domain.as_str());
    let domains: BTreeSet<&str> = domains.filter(|domain| !hierarchy.domains.contains_key(*domain)).collect();
    let starts: Vec<Project> = std::mem::take(&mut changes.starts).into_values().collect();
    if changes.is_empty() && starts.is_empty() && members.is_empty() && domains.is_empty() {
        return Ok(false);
    }
    store::people::add_memberships(session.write(), members.iter().copied()).await?;
    store::people::note_starts(session.write(), &starts).await?;
    session.note_starts(starts);
    if !changes.is_empty() || !members.is_empty() || !domains.is_empty() {
        session.show_again();
    }
    know(session, &changes, &members, &domains);
    if let Some(lock) = lock.filter(|_| !changes.is_empty()) {
        book(session, lock, callers, taken, changes).await?;
    }
    Ok(true)
}

/// Makes what is new known to the group, and moves projects there.
fn know(session: &mut Session, changes: &Changes, members: &BTreeSet<Member>, domains: &BTreeSet<&str>) {
    let homes: Vec<Option<Arc<str>>> = {
        let people = session.people();
        let home = |id| {
            let row = changes.projects.get(&id).map(|project| &project.domain_name);
            row.or_else(|| people.project(id).map(|known| &known.domain_name)).cloned()
        };
        members.iter().map(|member| home(member.project)).collect()
    };
    session.know(|state| {
        let mut new = Vec::new();
        for project in changes.projects.values() {
            if state.hierarchy.projects.contains_key(&project.id) {
                new.extend(state.know_project(project.id, &project.domain_name));
            }
        }
        for (member, home) in members.iter().zip(homes) {
            new.extend(home.map(|home| state.know_member(*member, &home)).unwrap_or_default());
        }
        for domain in domains {
            new.extend(state.know_domain(&Arc::from(*domain)));
        }
        new
    });
}

/// Stores what changed of people, with an entry in the audit log for what is no mere arrival.
async fn book(
    session: &mut Session,
    lock: PeopleLock,
    callers: &[&Caller],
    taken: &[&Named],
    changes: Changes,
) -> Result<()> {
    let Changes { domains, projects, users, moved, restored, .. } = changes;
    let people = People {
        domains: domains.into_values().collect(),
        projects: projects.into_values().collect(),
        users: users.into_values().collect(),
    };
    session.save_people(lock, people).await?;
    let caller_of = |kernel: Option<KernelId>| {
        let told = taken.iter().rev().find(|named| Some(named.kernel) == kernel);
        told.and_then(|named| callers.get(named.part)).or(callers.first()).copied()
    };
    for Moved { id, from, to, by } in moved {
        let Some(caller) = caller_of(by) else { continue };
        let of = |domain: Arc<str>| Some(json!({"domain_name": domain}));
        let (before, after, target) = (of(from), of(to), id.to_string());
        session.audit_as(caller, Change { action: "project.moved", target, before, after, reason: None }).await?;
    }
    for Restored { action, target, by } in restored {
        let Some(caller) = caller_of(Some(by)) else { continue };
        let (before, after) = (Some(json!({"archived": true})), Some(json!({"archived": false})));
        session.audit_as(caller, Change { action, target, before, after, reason: None }).await?;
    }
    Ok(())
}
