//! Kernels come in: idempotent by `kernel_id`, in any order, any number of times. Domains, projects
//! and users come into being by being named.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use uuid::Uuid;

use super::incoming::Incoming;
use super::joint::{self, Part};
use super::session::Session;
use super::state::GroupState;
use super::{Caller, Fault, Result, Service, detached};
use crate::domain::ids::{KernelId, Member, ProjectId, UserId};
use crate::domain::kernel::{Kernel, Report};
use crate::domain::time::{Day, Timestamp};
use crate::store;
use crate::store::audit::Tally;
use crate::store::people::Project;

/// Kernels that one transaction takes.
pub const BATCH: usize = 5_000;
/// The action under which the audit log counts what is delivered.
pub const INGEST: &str = "kernels.ingest";

/// Whom a report names, and how.
struct Named {
    kernel: KernelId,
    owner: Member,
    user_name: Option<String>,
    project_name: Option<String>,
}

impl Incoming {
    fn split(self) -> (Named, Report) {
        let Self { report, user_name, project_name } = self;
        (Named { kernel: report.id, owner: report.owner, user_name, project_name }, report)
    }
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

/// Checked reports, and how many rows beside them could not be read.
#[derive(Clone, Debug, Default)]
pub struct Delivery {
    pub reports: Vec<Incoming>,
    /// Rows that were refused before; the audit log counts them with the others.
    pub rejected: u64,
}

impl From<Vec<Incoming>> for Delivery {
    fn from(reports: Vec<Incoming>) -> Self {
        Self { reports, rejected: 0 }
    }
}

impl Service {
    /// Takes one batch of checked reports in one transaction, together with what others deliver at the same time;
    /// those that contradict what is known are refused one by one, the others are kept.
    pub async fn ingest(self: &Arc<Self>, caller: &Caller, group: &str, batch: Vec<Incoming>) -> Result<Vec<Refused>> {
        Ok(self.ingest_counted(caller, group, batch.into()).await?.refused)
    }

    /// [`Service::ingest`] for whoever also has rows that could not be read, or wants to know whether anything changed.
    pub async fn ingest_counted(
        self: &Arc<Self>,
        caller: &Caller,
        group: &str,
        delivery: Delivery,
    ) -> Result<Ingested> {
        caller.require_scheduler()?;
        let part = Part { caller: caller.clone(), delivery };
        let (service, group) = (Arc::clone(self), group.to_owned());
        detached(async move { joint::hand_in(&service, &group, part).await }).await
    }
}

/// Takes the parts, in their order, in the transaction of `session`, and counts them in the audit log. The answers
/// are in the order of the parts.
pub(super) async fn take(mut session: Session, parts: &mut [Part]) -> Result<Vec<Ingested>> {
    let sizes: Vec<usize> = parts.iter().map(|part| part.delivery.reports.len()).collect();
    let batch = parts.iter_mut().flat_map(|part| std::mem::take(&mut part.delivery.reports));
    let (names, reports): (Vec<Named>, Vec<Report>) = batch.map(Incoming::split).unzip();
    let (mut merged, mut refused) = merge(&session, reports).await?;
    save(&mut session, &names, &mut merged, &mut refused).await?;
    let refused_at: BTreeSet<usize> = refused.iter().map(|r| r.at).collect();
    let taken: Vec<&Named> =
        names.iter().enumerate().filter(|(at, _)| !refused_at.contains(at)).map(|(_, n)| n).collect();
    session.learn_projects(taken.iter().map(|named| named.owner.project)).await?;
    let is_new = register(&mut session, &taken, &merged).await? || !merged.is_empty();
    let done = by_part(&sizes, &names, &merged, refused);
    let (tallies, now) = (tallies(parts, &sizes, &done), session.now);
    let group = session.state().group.name.clone();
    if is_new {
        store::audit::tally(session.tx(), INGEST, &group, &tallies, now).await?;
        session.commit().await?;
    } else {
        // Nothing is stored, so the picture stays as it is, and only the count is written.
        let service = Arc::clone(session.service());
        drop(session);
        store::audit::tally(service.store().write(), INGEST, &group, &tallies, now).await?;
    }
    Ok(done)
}

/// What became of each part of a batch.
fn by_part(sizes: &[usize], names: &[Named], merged: &Merged, mut refused: Vec<Refused>) -> Vec<Ingested> {
    refused.sort_unstable_by_key(|r| r.at);
    if sizes.len() == 1 {
        return vec![Ingested { changed: merged.len() as u64, refused }];
    }
    let changed: BTreeSet<KernelId> = merged.iter().map(|(_, kernel)| kernel.report.id).collect();
    let mut refused = refused.into_iter().peekable();
    let mut first = 0;
    let part = |size: &usize| {
        let end = first + size;
        let mut own = Vec::new();
        while let Some(row) = refused.next_if(|row| row.at < end) {
            own.push(Refused { at: row.at - first, ..row });
        }
        let named: BTreeSet<KernelId> =
            names[first..end].iter().map(|n| n.kernel).filter(|id| changed.contains(id)).collect();
        first = end;
        Ingested { changed: named.len() as u64, refused: own }
    };
    sizes.iter().map(part).collect()
}

/// What the audit log counts of `parts`: one sum for each key.
fn tallies(parts: &[Part], sizes: &[usize], done: &[Ingested]) -> Vec<Tally> {
    let mut sums: BTreeMap<(Option<Uuid>, &str), Tally> = BTreeMap::new();
    for ((Part { caller, delivery }, size), done) in parts.iter().zip(sizes).zip(done) {
        let sum = sums.entry((caller.key_id, caller.actor.as_str())).or_insert_with(|| Tally {
            actor: caller.actor.clone(),
            key_id: caller.key_id,
            request_id: caller.request_id.clone(),
            accepted: 0,
            rejected: 0,
        });
        sum.accepted += (size - done.refused.len()) as u64;
        sum.rejected += delivery.rejected + done.refused.len() as u64;
    }
    sums.into_values().filter(|sum| sum.accepted + sum.rejected > 0).collect()
}

fn of_another_group(at: usize) -> Refused {
    let detail = "the kernel belongs to another resource group";
    Refused { at, fault: Fault::new("/kernel_id", "kernel_of_another_group", detail) }
}

type Merged = Vec<(Option<Kernel>, Kernel)>;

/// Merges every report with what is known about its kernel, in the order of the batch.
async fn merge(session: &Session, reports: Vec<Report>) -> Result<(Merged, Vec<Refused>)> {
    let group = &session.state().group.name;
    let kept_from = session.state().group.records_from.map_or(Timestamp::EPOCH, Day::start);
    let ids: BTreeSet<KernelId> = reports.iter().map(|r| r.id).collect();
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
    for (at, report) in reports.into_iter().enumerate() {
        let id = report.id;
        if elsewhere.contains(&id) {
            refused.push(of_another_group(at));
            continue;
        }
        let before = current.get(&id).or_else(|| known.get(&id)).cloned();
        let kept = before.as_ref().map_or(Ok(()), |known| known.check_purged(&report, kept_from));
        match kept.and_then(|()| Kernel::merge(before, report)) {
            Ok(kernel) => {
                current.insert(id, kernel);
            }
            Err(conflict) => {
                refused.push(Refused {
                    at,
                    fault: Fault::new(format!("/{}", conflict.key()), conflict.code(), conflict.to_string()),
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
async fn save(session: &mut Session, names: &[Named], merged: &mut Merged, refused: &mut Vec<Refused>) -> Result<()> {
    let group = session.state().group.name.clone();
    if store::kernels::upsert(session.tx(), &group, merged).await? != merged.len() as u64 {
        let ids: Vec<KernelId> = merged.iter().map(|(_, kernel)| kernel.report.id).collect();
        let found = store::kernels::find_many(session.tx(), &ids).await?;
        let lost: BTreeSet<KernelId> =
            found.into_iter().filter(|(of, _)| *of != group).map(|(_, k)| k.report.id).collect();
        merged.retain(|(_, kernel)| !lost.contains(&kernel.report.id));
        let known: BTreeSet<usize> = refused.iter().map(|r| r.at).collect();
        let late = (0..names.len()).filter(|at| lost.contains(&names[*at].kernel) && !known.contains(at));
        refused.extend(late.map(of_another_group));
    }
    session.kernels_changed(merged).await
}

/// Makes everybody whom the reports taken name known, by the names they give. Returns whether that
/// changed anything.
async fn register(session: &mut Session, taken: &[&Named], merged: &Merged) -> Result<bool> {
    let state = session.state();
    let new_project = |p: &Project| state.projects.get(&p.id) != Some(p);
    let projects: Vec<Project> =
        latest_projects(state, taken, merged, session.now).into_values().filter(new_project).collect();
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
    for named in taken {
        if let Some(name) = named.user_name.as_ref().filter(|n| renamed(&named.owner.user, n)) {
            users.insert(named.owner.user, Some(name.clone()));
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
    // That a kernel of a known project is newer than those before shows nowhere.
    let alike = |a: &Project, b: &Project| a.domain_name == b.domain_name && a.display_name == b.display_name;
    let as_before = |p: &Project| state.projects.get(&p.id).is_some_and(|known| alike(known, p));
    let visible = !(members.is_empty() && users.is_empty() && domains.is_empty() && projects.iter().all(as_before));
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
    if visible || !new.is_empty() {
        session.share_changed(new);
    }
    Ok(true)
}

/// Each named project with the domain of its newest kernel, so that reports in any order agree.
fn latest_projects(
    state: &GroupState,
    taken: &[&Named],
    merged: &Merged,
    now: Timestamp,
) -> BTreeMap<ProjectId, Project> {
    let names: BTreeMap<ProjectId, &String> =
        taken.iter().filter_map(|n| Some((n.owner.project, n.project_name.as_ref()?))).collect();
    let mut latest: BTreeMap<ProjectId, Project> = BTreeMap::new();
    for (_, kernel) in merged {
        let id = kernel.report.owner.project;
        // A start that lies ahead must not keep the project until then.
        let since = kernel.report.started_at.unwrap_or(Timestamp::EPOCH).min(now);
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
