//! Keeps the demo's cluster changing while a visitor looks: kernels end, the first jobs in order start in their place,
//! and their owners submit more.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::groups::GROUPS;
use super::people::{PEOPLE, PROJECTS};
use super::random::Random;
use crate::domain::changes::Changes;
use crate::domain::identity;
use crate::domain::kernel::{Phase, Report, Traits};
use crate::domain::slots::Amounts;
use crate::domain::time::Timestamp;
use crate::service::ingest::incoming::{Incoming, OwnerNames};
use crate::service::input::page::Window;
use crate::service::kernels::KernelFilter;
use crate::service::sequence::{PendingWorkload, SequenceInput};
use crate::service::{Caller, Result, Service};

/// The interval of changes in each group.
const EVERY: Duration = Duration::from_secs(3);
/// The largest number of kernels that are read; the demo has fewer.
const MOST: u32 = 1_000;

/// Runs until it is dropped.
pub async fn run(service: Arc<Service>, seed: u64) {
    let mut random = Random::seeded(seed);
    let mut beat = interval(EVERY);
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
pub async fn step(service: &Arc<Service>, group: &str, random: &mut Random) -> Result<()> {
    let (caller, now) = (Caller::internal("demo"), service.clock().now());
    let running = reports(service, &caller, group, Phase::Running).await?;
    let Some(at) = random.pick(&(0..running.len()).collect::<Vec<_>>()) else { return Ok(()) };
    let session = running[at].session;
    let ended: Vec<&Report> =
        running.iter().filter(|report| report.session == session && report.started_at < Some(now)).collect();
    let Some(first) = ended.first() else { return Ok(()) };
    let again = submitted_again(group, first, now);
    let mut waiting = reports(service, &caller, group, Phase::Pending).await?;
    waiting.push(again.clone());
    let starts = starts(service, &caller, group, &waiting, &ended)?;
    let mut changed: Vec<Report> = ended
        .iter()
        .map(|report| Report { phase: Phase::Terminated, terminated_at: Some(now), ..(*report).clone() })
        .collect();
    // Only the new one of the pending jobs is not known yet.
    if !starts.iter().any(|(report, _)| report.id == again.id) {
        changed.push(again);
    }
    changed.extend(starts.into_iter().map(|(report, agent_id)| {
        let traits = Traits { agent_id, ..report.traits };
        Report { phase: Phase::Running, started_at: Some(now), traits, ..report }
    }));
    service.ingest(&caller, group, changed.into_iter().map(incoming).collect()).await?;
    Ok(())
}

async fn reports(service: &Service, caller: &Caller, group: &str, phase: Phase) -> Result<Vec<Report>> {
    let filter = KernelFilter { user: None, project: None, domain: None, phase: Some(phase) };
    let page = service.kernels(caller, group, filter, &Window::forward(MOST, None)).await?;
    Ok(page.rows.into_iter().map(|(_, kernel)| *kernel.report).collect())
}

/// A new job of the owner of a job that ended, of the same size.
fn submitted_again(group: &str, ended: &Report, now: Timestamp) -> Report {
    let job = format!("{}/{}", ended.session.0, now.micros());
    Report {
        id: identity::kernel(group, &job),
        session: identity::session(group, &job),
        phase: Phase::Pending,
        started_at: None,
        terminated_at: None,
        changes: Changes::default(),
        submitted_at: Some(now),
        traits: Traits { agent_id: None, gang_id: None, gang_min: None, ..ended.traits.clone() },
        ..ended.clone()
    }
}

/// The jobs that start in place of ended kernels: those that fit, in the order of the group, each with its node.
fn starts(
    service: &Service,
    caller: &Caller,
    group: &str,
    waiting: &[Report],
    ended: &[&Report],
) -> Result<Vec<(Report, Option<String>)>> {
    let single: Vec<&Report> = waiting.iter().filter(|report| report.traits.gang_id.is_none()).collect();
    let workloads = single.iter().map(|report| pending(report)).collect();
    let sequenced = service.sequence(caller, group, SequenceInput { workloads, ..SequenceInput::default() })?;
    let mut rooms: Vec<(Option<String>, Amounts)> =
        ended.iter().map(|report| (report.traits.agent_id.clone(), report.slots.clone())).collect();
    let mut starts = Vec::new();
    for report in sequenced.order.iter().filter_map(|at| single.get(usize::try_from(*at).ok()?)) {
        let fits = |(_, room): &&mut (Option<String>, Amounts)| {
            report.slots.iter().all(|(slot, asked)| room.get(slot).is_some_and(|free| free >= asked))
        };
        if let Some((agent_id, room)) = rooms.iter_mut().find(fits) {
            room.subtract(&report.slots);
            starts.push(((*report).clone(), agent_id.clone()));
        }
    }
    Ok(starts)
}

fn pending(report: &Report) -> PendingWorkload<'static> {
    PendingWorkload {
        workload_id: report.id.0.to_string().into(),
        user_uuid: Some(report.owner.user),
        user: None,
        project_id: Some(report.owner.project),
        project: None,
        submitted_at: report.submitted_at,
        priority: 0,
        queue: None,
        requested_slots: Some(Box::new(report.slots.clone())),
        count: None,
        expected_seconds: None,
    }
}

fn incoming(report: Report) -> Incoming {
    let person = PEOPLE.iter().find(|person| identity::user(person.name) == report.owner.user);
    let project = PROJECTS.iter().find(|(project, _)| identity::project(project) == report.owner.project);
    let told = |name: Option<&str>| OwnerNames { name: name.map(str::to_owned), display_name: None };
    let (user, project) = (told(person.map(|p| p.name)), told(project.map(|(project, _)| *project)));
    Incoming { report: Box::new(report), user, project, project_stays: true }
}
