//! Kernels come in: idempotent by `kernel_id`, in any order, any number of times. Domains, projects
//! and users come into being by being named.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;
use uuid::Uuid;

use super::audit::{self, Change};
use super::session::Session;
use super::state::GroupState;
use super::{Caller, Fault, Result, Service, detached};
use crate::domain::defaults::yes;
use crate::domain::ids::{KernelId, Member, ProjectId, SessionId, UserId};
use crate::domain::kernel::{Kernel, Phase, Report, Traits};
use crate::domain::names::check_name;
use crate::domain::slots::Amounts;
use crate::domain::time::Timestamp;
use crate::store;
use crate::store::people::Project;

/// The longest life of a kernel, in days: one run cuts it into as many records.
pub const MAX_KERNEL_DAYS: i32 = 3_660;
pub const LIVES_TOO_LONG: &str = "a kernel lives at most 3660 days";

/// Kernels that one transaction takes.
pub const BATCH: usize = 5_000;

/// A kernel as a scheduler sends it.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelInput {
    pub kernel_id: Uuid,
    pub session_id: Uuid,
    pub user_uuid: Uuid,
    pub project_id: Uuid,
    pub domain_name: String,
    /// Shown beside the id, if the scheduler has one.
    pub user_name: Option<String>,
    pub project_name: Option<String>,
    /// Slot name -> amount.
    #[schema(value_type = BTreeMap<String, String>)]
    pub occupied_slots: Amounts,
    /// `PENDING`, `RUNNING` or `TERMINATED`, or a finer state of one of them.
    pub status: String,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub terminated_at: Option<Timestamp>,
    pub agent_id: Option<String>,
    pub queue: Option<String>,
    #[serde(default)]
    pub priority: i32,
    #[serde(default = "yes")]
    pub preemptible: bool,
    #[serde(default)]
    pub critical: bool,
    pub gang_id: Option<String>,
    pub gang_min: Option<u32>,
}

/// A checked report with the names to show.
#[derive(Clone, Debug)]
pub struct Incoming {
    pub report: Report,
    pub user_name: Option<String>,
    pub project_name: Option<String>,
}

impl KernelInput {
    /// Checks what the types do not; a kernel without an end is measured until `now`.
    pub fn check(self, now: Timestamp) -> std::result::Result<Incoming, Vec<Fault>> {
        let mut faults = Vec::new();
        let mut fault = |pointer: &str, code, detail: &str| faults.push(Fault::new(pointer, code, detail));
        let names = [("/domain_name", Some(&self.domain_name)), ("/agent_id", self.agent_id.as_ref())];
        for (pointer, name) in
            names.into_iter().chain([("/queue", self.queue.as_ref()), ("/gang_id", self.gang_id.as_ref())])
        {
            if let Some(Err(error)) = name.map(|n| check_name(n)) {
                fault(pointer, "invalid_name", &format!("a name {error}"));
            }
        }
        for (pointer, name) in [("/user_name", &self.user_name), ("/project_name", &self.project_name)] {
            if name.as_ref().is_some_and(|n| n.is_empty() || n.chars().count() > 255 || n.chars().any(char::is_control))
            {
                fault(pointer, "invalid_name", "a display name has 1 to 255 printable characters");
            }
        }
        let phase = Phase::parse(&self.status);
        match (phase, self.started_at, self.terminated_at) {
            (None, ..) => fault(
                "/status",
                "unknown_status",
                "status is PENDING, RUNNING or TERMINATED (or a finer state of one of them)",
            ),
            (Some(Phase::Running), None, _) => fault("/started_at", "required", "a running kernel has started_at"),
            (Some(Phase::Terminated), _, None) => {
                fault("/terminated_at", "required", "a terminated kernel has terminated_at");
            }
            (Some(Phase::Pending | Phase::Running), _, Some(_)) => {
                fault("/terminated_at", "contradiction", "only a terminated kernel has terminated_at");
            }
            (Some(Phase::Pending), Some(_), _) => {
                fault("/started_at", "contradiction", "a pending kernel has not started");
            }
            (_, Some(start), Some(end)) if end < start => {
                fault("/terminated_at", "end_before_start", "terminated_at lies before started_at");
            }
            _ => {}
        }
        if outlives(self.started_at, self.terminated_at, now) {
            fault("/started_at", "out_of_range", LIVES_TOO_LONG);
        }
        if self.gang_min == Some(0) {
            fault("/gang_min", "out_of_range", "gang_min is at least 1");
        }
        let Some(phase) = phase.filter(|_| faults.is_empty()) else { return Err(faults) };
        let report = Report {
            id: KernelId(self.kernel_id),
            session: SessionId(self.session_id),
            owner: Member { user: UserId(self.user_uuid), project: ProjectId(self.project_id) },
            domain: self.domain_name,
            slots: self.occupied_slots.filtered(|a| !a.is_zero()),
            phase,
            started_at: self.started_at,
            terminated_at: self.terminated_at,
            traits: Traits {
                agent_id: self.agent_id,
                queue: self.queue,
                priority: self.priority,
                preemptible: self.preemptible,
                critical: self.critical,
                gang_id: self.gang_id,
                gang_min: self.gang_min,
            },
        };
        Ok(Incoming { report, user_name: self.user_name, project_name: self.project_name })
    }
}

/// Whether a kernel from `start` to `end`, or still running at `now`, lives longer than a kernel may.
pub fn outlives(start: Option<Timestamp>, end: Option<Timestamp>, now: Timestamp) -> bool {
    start.is_some_and(|start| end.unwrap_or(now).day().days_since(start.day()) > MAX_KERNEL_DAYS)
}

/// A report that contradicts what is known.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The place in the batch.
    pub at: usize,
    pub fault: Fault,
}

/// What became of one batch.
#[derive(Clone, Debug, Default)]
pub struct Ingested {
    /// Kernels that are new or not what they were.
    pub changed: u64,
    pub refused: Vec<Refused>,
}

impl Service {
    /// Takes one batch of checked reports in one transaction; those that contradict what is known
    /// are refused one by one, the others are kept.
    pub async fn ingest(self: &Arc<Self>, caller: &Caller, group: &str, batch: Vec<Incoming>) -> Result<Vec<Refused>> {
        Ok(self.ingest_counted(caller, group, batch).await?.refused)
    }

    /// [`Service::ingest`] for whoever wants to know whether anything changed.
    pub async fn ingest_counted(
        self: &Arc<Self>,
        caller: &Caller,
        group: &str,
        batch: Vec<Incoming>,
    ) -> Result<Ingested> {
        caller.require_scheduler()?;
        let (service, group) = (Arc::clone(self), group.to_owned());
        detached(async move {
            let mut session = Session::open(&service, &group).await?;
            let (mut merged, mut refused) = merge(&session, &batch).await?;
            save(&session, &batch, &mut merged, &mut refused).await?;
            let refused_at: BTreeSet<usize> = refused.iter().map(|r| r.at).collect();
            let taken: Vec<&Incoming> =
                batch.iter().enumerate().filter(|(at, _)| !refused_at.contains(at)).map(|(_, i)| i).collect();
            let done = Ingested { changed: merged.len() as u64, refused };
            session.learn_projects(taken.iter().map(|i| i.report.owner.project)).await?;
            if !register(&mut session, &taken, &merged).await? && merged.is_empty() {
                return Ok(done);
            }
            session.kernels_changed(&merged);
            session.commit().await?;
            Ok(done)
        })
        .await
    }

    /// Writes the audit entry of one ingest request, after its last batch.
    pub async fn ingest_done(
        self: &Arc<Self>,
        caller: Caller,
        group: String,
        accepted: u64,
        rejected: u64,
    ) -> Result<()> {
        let service = Arc::clone(self);
        detached(async move {
            let after = Some(json!({"accepted": accepted, "rejected": rejected}));
            let change = Change {
                caller: &caller,
                action: "kernels.ingest",
                target: group.clone(),
                before: None,
                after,
                reason: None,
            };
            audit::write(service.store.write(), change, Some(&group), service.clock.now()).await
        })
        .await
    }
}

fn of_another_group(at: usize) -> Refused {
    let detail = "the kernel belongs to another resource group";
    Refused { at, fault: Fault::new("/kernel_id", "kernel_of_another_group", detail) }
}

type Merged = Vec<(Option<Kernel>, Kernel)>;

/// Merges every report with what is known about its kernel, in the order of the batch.
async fn merge(session: &Session, batch: &[Incoming]) -> Result<(Merged, Vec<Refused>)> {
    let group = &session.state().group.name;
    let ids: BTreeSet<KernelId> = batch.iter().map(|i| i.report.id).collect();
    let ids: Vec<KernelId> = ids.into_iter().collect();
    let mut known = BTreeMap::new();
    let mut elsewhere = BTreeSet::new();
    for (of, kernel) in store::kernels::find_many(session.tx(), &ids).await? {
        if of == *group {
            known.insert(kernel.report.id, kernel);
        } else {
            elsewhere.insert(kernel.report.id);
        }
    }
    let mut current: BTreeMap<KernelId, Kernel> = BTreeMap::new();
    let mut refused = Vec::new();
    for (at, incoming) in batch.iter().enumerate() {
        let id = incoming.report.id;
        if elsewhere.contains(&id) {
            refused.push(of_another_group(at));
            continue;
        }
        let before = current.get(&id).or_else(|| known.get(&id)).cloned();
        match Kernel::merge(before, incoming.report.clone()) {
            Ok(kernel) => {
                current.insert(id, kernel);
            }
            Err(conflict) => {
                refused.push(Refused {
                    at,
                    fault: Fault::new(format!("/{}", conflict.key()), "conflict", conflict.to_string()),
                });
            }
        }
    }
    let merged = current
        .into_iter()
        .map(|(id, kernel)| (known.remove(&id), kernel))
        .filter(|(old, new)| old.as_ref() != Some(new));
    Ok((merged.collect(), refused))
}

/// Stores what was merged. A kernel that another group has claimed since `merge` looked is refused.
async fn save(session: &Session, batch: &[Incoming], merged: &mut Merged, refused: &mut Vec<Refused>) -> Result<()> {
    let group = &session.state().group.name;
    if store::kernels::upsert(session.tx(), group, merged).await? == merged.len() as u64 {
        return Ok(store::kernels::save_cursors(session.tx(), group, merged).await?);
    }
    let ids: Vec<KernelId> = merged.iter().map(|(_, kernel)| kernel.report.id).collect();
    let found = store::kernels::find_many(session.tx(), &ids).await?;
    let lost: BTreeSet<KernelId> = found.into_iter().filter(|(of, _)| of != group).map(|(_, k)| k.report.id).collect();
    merged.retain(|(_, kernel)| !lost.contains(&kernel.report.id));
    let known: BTreeSet<usize> = refused.iter().map(|r| r.at).collect();
    let late = (0..batch.len()).filter(|at| lost.contains(&batch[*at].report.id) && !known.contains(at));
    refused.extend(late.map(of_another_group));
    Ok(store::kernels::save_cursors(session.tx(), group, merged).await?)
}

/// Makes everybody whom the reports taken name known, by the names they give. Returns whether that
/// changed anything.
async fn register(session: &mut Session, taken: &[&Incoming], merged: &Merged) -> Result<bool> {
    let state = session.state();
    let new_project = |p: &Project| state.projects.get(&p.id) != Some(p);
    let projects: Vec<Project> = latest_projects(state, taken, merged).into_values().filter(new_project).collect();
    let is_new = |m: &Member| !state.hierarchy.users.contains_key(m);
    let members: BTreeSet<Member> = merged.iter().map(|(_, k)| k.report.owner).filter(is_new).collect();
    let domains: BTreeSet<String> = merged
        .iter()
        .map(|(_, k)| &k.report.domain)
        .filter(|d| !state.hierarchy.domains.contains_key(d.as_str()))
        .cloned()
        .collect();
    let renamed = |id: &UserId, name: &String| state.user_names.get(id).is_none_or(|known| **known != **name);
    let mut users: BTreeMap<UserId, Option<String>> = members.iter().map(|m| (m.user, None)).collect();
    for incoming in taken {
        if let Some(name) = incoming.user_name.as_ref().filter(|n| renamed(&incoming.report.owner.user, n)) {
            users.insert(incoming.report.owner.user, Some(name.clone()));
        }
    }
    if projects.is_empty() && members.is_empty() && users.is_empty() && domains.is_empty() {
        return Ok(false);
    }
    let now = session.now;
    let all_domains =
        domains.iter().cloned().chain(projects.iter().map(|p| p.domain_name.clone())).collect::<BTreeSet<_>>();
    store::people::add_domains(session.tx(), all_domains, now).await?;
    let named: Vec<ProjectId> = projects.iter().map(|p| p.id).collect();
    store::people::save_projects(session.tx(), projects, now).await?;
    // Another group may have moved them meanwhile: what is stored counts.
    let projects = store::people::find_projects(session.tx(), named).await?;
    store::people::save_users(session.tx(), users.clone().into_iter().collect(), now).await?;
    store::people::add_memberships(session.tx(), members.iter().copied()).await?;
    let mut new = Vec::new();
    let state = session.state_mut();
    for project in projects {
        let domain: Arc<str> = Arc::from(project.domain_name.as_str());
        new.extend(state.admit_project(project.id, &domain));
        new.extend(state.move_project(project.id, &domain));
        if let Some(name) = &project.display_name {
            state.project_names.insert(project.id, Arc::from(name.as_str()));
        }
        state.projects.insert(project.id, project);
    }
    for member in members {
        let domain = state.projects.get(&member.project).map(|p| Arc::<str>::from(p.domain_name.as_str()));
        new.extend(domain.map(|d| state.admit(member, &d)).unwrap_or_default());
    }
    for domain in domains {
        new.extend(state.admit_domain(&Arc::from(domain.as_str())));
    }
    for (id, name) in users {
        if let Some(name) = name {
            state.user_names.insert(id, Arc::from(name.as_str()));
        }
    }
    session.share_changed(new);
    Ok(true)
}

/// Each named project with the domain of its newest kernel, so that reports in any order agree.
fn latest_projects(state: &GroupState, taken: &[&Incoming], merged: &Merged) -> BTreeMap<ProjectId, Project> {
    let names: BTreeMap<ProjectId, &String> =
        taken.iter().filter_map(|i| Some((i.report.owner.project, i.project_name.as_ref()?))).collect();
    let mut latest: BTreeMap<ProjectId, Project> = BTreeMap::new();
    for (_, kernel) in merged {
        let id = kernel.report.owner.project;
        let since = kernel.report.started_at.unwrap_or(Timestamp::EPOCH);
        let project = latest.entry(id).or_insert_with(|| {
            state.projects.get(&id).cloned().unwrap_or_else(|| Project {
                id,
                domain_name: kernel.report.domain.clone(),
                domain_since: since,
                display_name: None,
            })
        });
        if (since, kernel.report.domain.as_str()) > (project.domain_since, project.domain_name.as_str()) {
            project.domain_since = since;
            project.domain_name.clone_from(&kernel.report.domain);
        }
    }
    for (id, name) in names {
        let known = || state.projects.get(&id).cloned();
        if let Some(project) = latest.remove(&id).or_else(known) {
            latest.insert(id, Project { display_name: Some(name.clone()), ..project });
        }
    }
    latest
}
