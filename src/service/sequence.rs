//! The order of pending workloads, from published state only (§9).

use std::borrow::Cow;
use std::sync::Arc;

use hashbrown::HashMap;
use serde::Deserialize;
use utoipa::ToSchema;

use super::division::LiveDivision;
use super::{Caller, PublishedGroup, Result, Service};
use crate::domain::ids::{Member, ProjectId, UserId};
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
    #[schema(value_type = Uuid)]
    pub user_uuid: UserId,
    #[schema(value_type = Uuid)]
    pub project_id: ProjectId,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub submitted_at: Option<Timestamp>,
    #[serde(default)]
    pub priority: i32,
    /// Where it waits, for sequencers that let queues take turns; absent: as for kernels.
    #[schema(value_type = Option<String>)]
    pub queue: Option<Cow<'a, str>>,
    pub requested_slots: Option<Amounts>,
}

/// Workloads in the order in which they should start.
pub struct Sequenced<'a> {
    pub group: Arc<PublishedGroup>,
    pub workloads: Vec<Workload<'a>>,
    /// Positions in `workloads`, first to start first.
    pub order: Vec<u32>,
}

impl Service {
    /// Whether nothing but the workloads has to be looked at; else the queues may have to be divided first.
    pub fn sequences_at_once(&self, group: &str) -> bool {
        self.group(group).is_ok_and(|group| !group.scheduler.takes_turns())
    }

    /// Orders `pending`; nothing is dropped or invented.
    pub fn sequence<'a>(
        &self,
        caller: &Caller,
        group: &str,
        pending: Vec<PendingWorkload<'a>>,
    ) -> Result<Sequenced<'a>> {
        caller.require_scheduler()?;
        let group = self.group(group)?;
        let claims = group.scheduler.takes_turns().then(|| claims(&group, &pending, self.clock().now())).transpose()?;
        let workloads: Vec<Workload<'a>> = pending
            .into_iter()
            .map(|w| Workload {
                id: w.workload_id,
                owner: Member { user: w.user_uuid, project: w.project_id },
                submitted_at: w.submitted_at,
                priority: w.priority,
            })
            .collect();
        let order = match &claims {
            None => group.scheduler.order(&workloads, &group.standings),
            Some((division, queue, requests)) => {
                let claims = QueueClaims {
                    tree: &division.tree,
                    fair_share: &division.shares.fair_share,
                    score_weights: &group.options.division.options.score_weights,
                    queue,
                    requests,
                };
                group.scheduler.order_by_turns(&workloads, &group.standings, &claims)
            }
        };
        Ok(Sequenced { group, workloads, order })
    }
}

type Claims = (Arc<LiveDivision>, Vec<usize>, Vec<Amounts>);

/// What queues deserve, and by workload its queue and what it asks for.
fn claims(group: &PublishedGroup, pending: &[PendingWorkload], now: Timestamp) -> Result<Claims> {
    let division = group.divided(now)?;
    let mut places: HashMap<(Option<&str>, ProjectId), usize, foldhash::fast::FixedState> = HashMap::default();
    let place = |workload: &PendingWorkload| {
        let name = group.queue_of(workload.queue.as_deref(), workload.project_id);
        // Every queue that workloads resolve to is in the tree, `default` included.
        division.tree.find(name).unwrap_or(0)
    };
    let mut queues = Vec::with_capacity(pending.len());
    for workload in pending {
        let claim = (workload.queue.as_deref(), workload.project_id);
        queues.push(*places.entry(claim).or_insert_with(|| place(workload)));
    }
    let requests = pending.iter().map(|w| w.requested_slots.clone().unwrap_or_default()).collect();
    Ok((division, queues, requests))
}
