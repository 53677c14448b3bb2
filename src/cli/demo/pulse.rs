//! The demo's cluster while one looks: kernels end, those that are first in line take their places, and people ask for more.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::cluster::GROUPS;
use super::people::{PEOPLE, PROJECTS};
use super::random::Random;
use crate::domain::changes::Changes;
use crate::domain::identity;
use crate::domain::ids::{KernelId, Member};
use crate::domain::kernel::{Phase, Report, Traits};
use crate::domain::slots::Amounts;
use crate::domain::time::Timestamp;
use crate::service::ingest::incoming::{Incoming, Told};
use crate::service::input::page::Window;
use crate::service::kernels::KernelFilter;
use crate::service::{Caller, Result, Service};

/// How often something happens in each group.
const EVERY: Duration = Duration::from_secs(3);
/// Kernels that are looked at; the demo has fewer.
const MOST: u32 = 1_000;

/// Goes on until it is dropped.
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

/// One session ends, a person hands in a job of the same size, and the best-placed job that fits starts.
pub async fn step(service: &Arc<Service>, group: &str, random: &mut Random) -> Result<()> {
    let (caller, now) = (Caller::internal("demo"), service.clock().now());
    let running = reports(service, &caller, group, Phase::Running).await?;
    let Some(at) = random.pick(&(0..running.len()).collect::<Vec<_>>()) else { return Ok(()) };
    let ended = &running[at];
    let mut changed: Vec<Report> = running
        .iter()
        .filter(|report| report.session == ended.session && report.started_at < Some(now))
        .map(|report| Report { phase: Phase::Terminated, terminated_at: Some(now), ..report.clone() })
        .collect();
    let mut waiting = reports(service, &caller, group, Phase::Pending).await?;
    waiting.extend(submitted(group, &ended.slots, now, random));
    let (next, rest): (Vec<Report>, Vec<Report>) = {
        let first = first_in_line(service, &caller, group, &waiting, &ended.slots)?;
        waiting.into_iter().partition(|report| Some(report.id) == first)
    };
    let agent_id = ended.traits.agent_id.clone();
    let start = |report: Report| {
        let traits = Traits { agent_id: agent_id.clone(), ..report.traits };
        Report { phase: Phase::Running, started_at: Some(now), traits, ..report }
    };
    changed.extend(next.into_iter().map(start));
    // Of those that wait only the new one is not known yet; the others say nothing new.
    changed.extend(rest.into_iter().last());
    service.ingest(&caller, group, changed.into_iter().map(incoming).collect()).await?;
    Ok(())
}

async fn reports(service: &Service, caller: &Caller, group: &str, phase: Phase) -> Result<Vec<Report>> {
    let filter = KernelFilter { user: None, project: None, domain: None, phase: Some(phase) };
    let page = service.kernels(caller, group, filter, &Window::forward(MOST, None)).await?;
    Ok(page.rows.into_iter().map(|(_, kernel)| *kernel.report).collect())
}

/// A job of a person who works on the group.
fn submitted(group: &str, slots: &Amounts, now: Timestamp, random: &mut Random) -> Option<Report> {
    let people: Vec<_> = PEOPLE.iter().filter(|person| person.group == group).collect();
    let person = random.pick(&people)?;
    let (project, domain) = PROJECTS[person.project];
    let job = format!("{}/{}", person.name, now.micros());
    Some(Report {
        id: identity::kernel(group, &job),
        session: identity::session(group, &job),
        owner: Member { user: identity::user(person.name), project: identity::project(project) },
        domain: domain.to_owned(),
        slots: slots.clone(),
        phase: Phase::Pending,
        started_at: None,
        terminated_at: None,
        changes: Changes::default(),
        expected_seconds: None,
        traits: Traits::default(),
    })
}

/// Of the jobs that fit into `room`, that of the owner who ranks best.
fn first_in_line(
    service: &Service,
    caller: &Caller,
    group: &str,
    waiting: &[Report],
    room: &Amounts,
) -> Result<Option<KernelId>> {
    let visible = service.group(caller, group)?;
    let fits = |report: &&Report| {
        let has_room = |(slot, asked)| room.get(slot).is_some_and(|free| free >= asked);
        report.traits.gang_id.is_none() && report.slots.iter().all(has_room)
    };
    let mut placed = Vec::new();
    for report in waiting.iter().filter(fits) {
        let rank = visible.user(report.owner)?.and_then(|share| share.place());
        placed.push((rank.unwrap_or(u32::MAX), report.id));
    }
    Ok(placed.into_iter().min().map(|(_, id)| id))
}

fn incoming(report: Report) -> Incoming {
    let person = PEOPLE.iter().find(|person| identity::user(person.name) == report.owner.user);
    let project = PROJECTS.iter().find(|(project, _)| identity::project(project) == report.owner.project);
    let told = |name: Option<&str>| Told { name: name.map(str::to_owned), display_name: None };
    let (user, project) = (told(person.map(|p| p.name)), told(project.map(|(project, _)| *project)));
    Incoming { report: Box::new(report), user, project, project_stays: true }
}
