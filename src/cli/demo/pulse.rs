//! Keeps the demo's cluster changing while a visitor looks: kernels end, the first jobs in order start in their place,
//! and their owners submit more.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::groups::GROUPS;
use super::people::{PEOPLE, PROJECTS};
use super::random::SeededRandom;
use crate::api::sequence::PendingWorkload;
use crate::domain::changes::SuspensionChanges;
use crate::domain::identity;
use crate::domain::kernel::{KernelPhase, KernelReport, KernelTraits};
use crate::domain::kernel_agents::KernelAgents;
use crate::domain::slots::SlotAmounts;
use crate::domain::time::Timestamp;
use crate::engine::ingest::incoming::{IncomingReport, OwnerNames};
use crate::service::input::page::PageWindow;
use crate::service::kernels::KernelFilter;
use crate::service::sequence::SequenceInput;
use crate::service::{Caller, Result, Service};

/// The interval of changes in each group.
const CHANGE_INTERVAL: Duration = Duration::from_secs(3);
/// The largest number of kernels that are read; the demo has fewer.
const MAX_KERNELS: u32 = 1_000;

/// Runs until it is dropped.
pub async fn run(service: Arc<Service>, seed: u64) {
    let mut random = SeededRandom::seeded(seed);
    let mut beat = interval(CHANGE_INTERVAL);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        beat.tick().await;
        for group in &GROUPS {
            if let Err(error) = step(&service, group.name, &mut random).await {
                tracing::warn!(%error, group = group.name, "the demo did not move");
            }
        }
    }
}

/// Ends one session; its owner submits another job of the same size, and the first jobs in order that fit start.
pub async fn step(service: &Arc<Service>, group: &str, random: &mut SeededRandom) -> Result<()> {
    let (caller, now) = (Caller::internal("demo"), service.clock().now());
    let running = reports(service, &caller, group, KernelPhase::Running).await?;
    let Some(at) = random.pick(&(0..running.len()).collect::<Vec<_>>()) else { return Ok(()) };
    let session = running[at].session;
    let ended: Vec<&KernelReport> =
        running.iter().filter(|report| report.session == session && report.started_at < Some(now)).collect();
    let Some(first) = ended.first() else { return Ok(()) };
    let again = submitted_again(group, first, now);
    let mut waiting = reports(service, &caller, group, KernelPhase::Pending).await?;
    waiting.push(again.clone());
    let starts = jobs_to_start(service, &caller, group, &waiting, &ended)?;
    let mut changed: Vec<KernelReport> = ended
        .iter()
        .map(|report| KernelReport { phase: KernelPhase::Terminated, terminated_at: Some(now), ..(*report).clone() })
        .collect();
    // Only the new one of the pending jobs is not known yet.
    if !starts.iter().any(|(report, _)| report.id == again.id) {
        changed.push(again);
    }
    changed.extend(starts.into_iter().map(|(report, agents)| {
        let traits = KernelTraits { agents, ..report.traits };
        KernelReport { phase: KernelPhase::Running, started_at: Some(now), traits, ..report }
    }));
    service.ingest(&caller, group, changed.into_iter().map(incoming_report).collect()).await?;
    Ok(())
}

async fn reports(service: &Service, caller: &Caller, group: &str, phase: KernelPhase) -> Result<Vec<KernelReport>> {
    let filter = KernelFilter { user: None, project: None, domain: None, phase: Some(phase) };
    let page = service.kernels(caller, group, filter, &PageWindow::forward(MAX_KERNELS, None)).await?;
    Ok(page.rows.into_iter().map(|(_, kernel)| *kernel.report).collect())
}

/// A new job of the owner of a job that ended, of the same size.
fn submitted_again(group: &str, ended: &KernelReport, now: Timestamp) -> KernelReport {
    let job = format!("{}/{}", ended.session.0, now.micros());
    KernelReport {
        id: identity::kernel(group, &job),
        session: identity::session(group, &job),
        phase: KernelPhase::Pending,
        started_at: None,
        terminated_at: None,
        changes: SuspensionChanges::default(),
        submitted_at: Some(now),
        traits: KernelTraits { agents: KernelAgents::Unknown, gang_id: None, gang_min: None, ..ended.traits.clone() },
        ..ended.clone()
    }
}

/// The jobs that start in place of ended kernels: those that fit, in the order of the group, each with its node.
fn jobs_to_start(
    service: &Service,
    caller: &Caller,
    group: &str,
    waiting: &[KernelReport],
    ended: &[&KernelReport],
) -> Result<Vec<(KernelReport, KernelAgents)>> {
    let single: Vec<&KernelReport> = waiting.iter().filter(|report| report.traits.gang_id.is_none()).collect();
    let workloads = single.iter().map(|report| pending_workload(report)).collect();
    let sequenced = service.sequence(caller, group, SequenceInput { workloads, ..SequenceInput::default() })?;
    let mut rooms: Vec<(KernelAgents, SlotAmounts)> =
        ended.iter().map(|report| (report.traits.agents.clone(), report.slots.clone())).collect();
    let mut starts = Vec::new();
    for report in sequenced.order.iter().filter_map(|at| single.get(usize::try_from(*at).ok()?)) {
        let fits = |(_, room): &&mut (KernelAgents, SlotAmounts)| {
            report.slots.iter().all(|(slot, asked)| room.get(slot).is_some_and(|free| free >= asked))
        };
        if let Some((agents, room)) = rooms.iter_mut().find(fits) {
            room.subtract(&report.slots);
            starts.push(((*report).clone(), agents.clone()));
        }
    }
    Ok(starts)
}

fn pending_workload(report: &KernelReport) -> PendingWorkload<'static> {
    PendingWorkload {
        submitted_at: report.submitted_at,
        requested_slots: Some(Box::new(report.slots.clone())),
        ..PendingWorkload::of_owner(report.id.0.to_string().into(), report.owner)
    }
}

fn incoming_report(report: KernelReport) -> IncomingReport {
    let person = PEOPLE.iter().find(|person| identity::user(person.name) == report.owner.user);
    let project = PROJECTS.iter().find(|(project, _)| identity::project(project) == report.owner.project);
    let owner_names = |name: Option<&str>| OwnerNames { name: name.map(str::to_owned), display_name: None };
    let (user, project) = (owner_names(person.map(|p| p.name)), owner_names(project.map(|(project, _)| *project)));
    IncomingReport { report: Box::new(report), user, project, project_stays: true, mistakes: Vec::new() }
}
