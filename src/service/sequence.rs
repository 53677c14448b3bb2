//! The order of pending workloads, from published state only (§9).

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use utoipa::ToSchema;

use super::{Caller, PublishedGroup, Result, Service};
use crate::domain::ids::{Member, ProjectId, UserId};
use crate::domain::sequencer::Workload;
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
    #[schema(value_type = Option<BTreeMap<String, String>>)]
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
    /// Orders `pending`; nothing is dropped or invented.
    pub fn sequence<'a>(
        &self,
        caller: &Caller,
        group: &str,
        pending: Vec<PendingWorkload<'a>>,
    ) -> Result<Sequenced<'a>> {
        caller.require_scheduler()?;
        let group = self.group(group)?;
        let workloads: Vec<Workload<'a>> = pending
            .into_iter()
            .map(|w| Workload {
                id: w.workload_id,
                owner: Member { user: w.user_uuid, project: w.project_id },
                submitted_at: w.submitted_at,
                priority: w.priority,
            })
            .collect();
        let order = group.scheduler.order(&workloads, &group.standings);
        Ok(Sequenced { group, workloads, order })
    }
}
