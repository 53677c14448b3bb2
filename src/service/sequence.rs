//! The order of pending workloads, from published state only (FAIR_SHARE §9).

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use utoipa::ToSchema;

use super::group::published::PublishedGroup;
use super::group::published::division::Division;
use super::group::published::rows::Rows;
use super::group::visible::VisibleGroup;
use super::people::{Directory, who};
use super::{Caller, Fault, Faults, Result, Service};
use crate::domain::ids::{Member, ProjectId, UserId};
use crate::domain::maps::FastMap;
use crate::domain::sequencer::{QueueClaims, Workload};
use crate::domain::slots::Amounts;
use crate::domain::time::Timestamp;

/// A pending workload as a scheduler sends it. Texts borrow from the request's body.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PendingWorkload<'a> {
    #[serde(borrow)]
    #[schema(value_type = String)]
    pub workload_id: Cow<'a, str>,
    /// This or `user`.
    #[schema(value_type = Option<Uuid>)]
    pub user_uuid: Option<UserId>,
    /// The user's name instead of the UUID.
    #[schema(value_type = Option<String>)]
    pub user: Option<Cow<'a, str>>,
    /// This or `project`.
    #[schema(value_type = Option<Uuid>)]
    pub project_id: Option<ProjectId>,
    /// The project's name instead of the UUID.
    #[schema(value_type = Option<String>)]
    pub project: Option<Cow<'a, str>>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub submitted_at: Option<Timestamp>,
    #[serde(default)]
    pub priority: i32,
    /// Where it waits, for sequencers that let queues take turns; absent: as for kernels.
    #[schema(value_type = Option<String>)]
    pub queue: Option<Cow<'a, str>>,
    // Apart, because most have none, and hundreds of thousands of workloads are read.
    pub requested_slots: Option<Box<Amounts>>,
}

/// Workloads in the order in which they should start.
pub struct Sequenced<'a> {
    pub group: VisibleGroup,
    pub workloads: Vec<Workload<'a>>,
    /// Positions in `workloads`, first to start first.
    pub order: Vec<u32>,
}

impl Sequenced<'_> {
    /// What the order was made from.
    pub fn rows(&self) -> &Rows {
        &self.group.facts().rows
    }
}

impl Service {
    /// Whether nothing but the workloads has to be looked at; else the queues may have to be divided first.
    pub fn sequences_at_once(&self, caller: &Caller, group: &str) -> bool {
        self.group(caller, group).is_ok_and(|group| !group.scheduler.takes_turns())
    }

    /// Orders `pending`; nothing is dropped or invented.
    pub fn sequence<'a>(
        &self,
        caller: &Caller,
        group: &str,
        mut pending: Vec<PendingWorkload<'a>>,
    ) -> Result<Sequenced<'a>> {
        caller.require_scheduler()?;
        let group = self.group(caller, group)?;
        let owners = owners(&self.people(), &pending)?;
        let claims = group
            .scheduler
            .takes_turns()
            .then(|| claims(group.published(), &mut pending, &owners, self.clock().now()))
            .transpose()?;
        let mut workloads: Vec<Workload<'a>> = pending
            .into_iter()
            .zip(owners)
            .map(|(w, owner)| Workload { id: w.workload_id, owner, submitted_at: w.submitted_at, priority: w.priority })
            .collect();
        // They take the place of what was read, which was larger.
        workloads.shrink_to_fit();
        let order = match &claims {
            None => group.scheduler.order(&workloads, group.facts()),
            Some((division, queue, requests)) => {
                let claims = QueueClaims {
                    tree: &division.tree,
                    fair_share: &division.shares.fair_share,
                    score_weights: &group.options.division.options.score.score_weights,
                    queue,
                    requests,
                };
                group.scheduler.order_by_turns(&workloads, group.facts(), &claims)
            }
        };
        Ok(Sequenced { group, workloads, order })
    }
}

/// Whose each workload is, by one look into the directory for all of them.
fn owners(people: &Directory, pending: &[PendingWorkload]) -> Result<Vec<Member>> {
    let owner = |workload: &PendingWorkload| {
        Ok::<_, Fault>(Member {
            user: who::user(people, workload.user_uuid, workload.user.as_deref())?,
            project: who::project(people, workload.project_id, workload.project.as_deref())?,
        })
    };
    let mut owners = Vec::with_capacity(pending.len());
    let mut faults = Faults::default();
    for (at, workload) in pending.iter().enumerate() {
        match owner(workload) {
            Ok(owner) => owners.push(owner),
            Err(fault) => {
                faults.push(Fault { pointer: format!("/workloads/{at}{}", fault.pointer), ..fault });
                if faults.are_enough() {
                    break;
                }
            }
        }
    }
    faults.or(owners)
}

type Claims = (Arc<Division>, Vec<usize>, Vec<Amounts>);

/// What queues deserve, and by workload its queue and what it asks for.
fn claims(
    group: &PublishedGroup,
    pending: &mut [PendingWorkload],
    owners: &[Member],
    now: Timestamp,
) -> Result<Claims> {
    let division = group.division(now)?;
    let mut places: FastMap<(Option<&str>, ProjectId), usize> = FastMap::default();
    let place = |workload: &PendingWorkload, project: ProjectId| {
        let name = group.facts.queue_of(workload.queue.as_deref(), project);
        // Every queue that workloads resolve to is in the tree, `default` included.
        division.tree.find(name).unwrap_or(0)
    };
    let mut queues = Vec::with_capacity(pending.len());
    for (workload, owner) in pending.iter().zip(owners) {
        let claim = (workload.queue.as_deref(), owner.project);
        queues.push(*places.entry(claim).or_insert_with(|| place(workload, owner.project)));
    }
    drop(places);
    let requests =
        pending.iter_mut().map(|w| w.requested_slots.take().map(|slots| *slots).unwrap_or_default()).collect();
    Ok((division, queues, requests))
}
