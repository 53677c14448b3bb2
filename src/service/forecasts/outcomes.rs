//! The outcomes of forecasts: the first forecast of each workload is kept until the workload starts, or is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use uuid::Uuid;

use super::group_forecasts::GroupForecasts;
use super::quality::MAX_STARTS;
use crate::domain::forecast::StartForecast;
use crate::domain::ids::{GroupKey, UserId};
use crate::domain::time::Timestamp;
use crate::domain::workloads::{AssessedWorkloads, WorkloadMembers, WorkloadStatus};
use crate::service::workloads::ended::load_ended;
use crate::service::{Result, Service};
use crate::store;
use crate::store::forecasts::{FirstForecast, ForecastOutcome};

/// The number of workloads of one run that are looked up among those that have ended. The others are in the next runs.
const MAX_LOOKED_UP: usize = 2_000;

/// The changes of the kept forecasts.
#[derive(Default)]
pub(super) struct OutcomeChanges {
    /// The forecasts of workloads that had none.
    pub first: Vec<FirstForecast>,
    pub started: Vec<(FirstForecast, Timestamp)>,
    /// The forecasts of workloads that will not start, or had started when the forecast was made.
    pub gone: Vec<FirstForecast>,
}

impl OutcomeChanges {
    pub fn is_empty(&self) -> bool {
        self.first.is_empty() && self.started.is_empty() && self.gone.is_empty()
    }

    /// The outcomes of the last starts: those that are stored, and those that are new.
    pub fn last_outcomes(&self, stored: Vec<ForecastOutcome>) -> Vec<ForecastOutcome> {
        let new = |(forecast, started_at): &(FirstForecast, Timestamp)| ForecastOutcome {
            start: forecast.start,
            started_at: *started_at,
        };
        let mut outcomes: Vec<ForecastOutcome> = self.started.iter().map(new).chain(stored).collect();
        outcomes.sort_by_key(|outcome| std::cmp::Reverse(outcome.started_at));
        outcomes.truncate(usize::try_from(MAX_STARTS).unwrap_or(usize::MAX));
        outcomes
    }

    /// Sorts a forecast by the workload's start, if it has any.
    fn settle(&mut self, forecast: FirstForecast, started_at: Option<Timestamp>) {
        match started_at.filter(|started_at| *started_at > forecast.made_at) {
            Some(started_at) => self.started.push((forecast, started_at)),
            None => self.gone.push(forecast),
        }
    }
}

/// The time at which the minimum of the workload began to run.
fn start_of(workload: &WorkloadMembers) -> Option<Timestamp> {
    let changes = workload.status_changes();
    changes.into_iter().find(|change| change.status == WorkloadStatus::Running).map(|change| change.at)
}

impl Service {
    /// The changes that follow from the workloads as they are now, and from new forecasts.
    pub(super) async fn find_outcomes(
        &self,
        group: GroupKey,
        assessed: &AssessedWorkloads,
        forecasts: &GroupForecasts,
    ) -> Result<OutcomeChanges> {
        let mut changes = OutcomeChanges::default();
        let (mut waiting, mut missing) = (BTreeSet::new(), Vec::new());
        for forecast in store::forecasts::load_open(self.store().read(), group).await? {
            let place = assessed.workloads.binary_search_by(|workload| (*workload.id).cmp(&forecast.workload_id));
            match place.map(|place| &assessed.workloads[place]) {
                Ok(workload) if workload.status() == WorkloadStatus::Running => {
                    changes.settle(forecast, start_of(workload));
                }
                Ok(workload) => {
                    waiting.insert(Arc::clone(&workload.id));
                }
                Err(_) => missing.push(forecast),
            }
        }
        missing.truncate(MAX_LOOKED_UP);
        let ended = self.ended_of(group, &missing).await?;
        for forecast in missing {
            let started_at = ended.get(&forecast.workload_id).and_then(start_of);
            changes.settle(forecast, started_at);
        }
        for workload in assessed.workloads.iter().filter(|workload| workload.status() == WorkloadStatus::Pending) {
            let known = forecasts.starts.get(&workload.id).copied().and_then(StartForecast::known);
            let (Some(start), Some(kernel)) = (known, workload.representative()) else { continue };
            if !waiting.contains(&workload.id) {
                let (workload_id, user) = (workload.id.to_string(), kernel.owner.user);
                changes.first.push(FirstForecast { workload_id, made_at: forecasts.as_of, user, start });
            }
        }
        Ok(changes)
    }

    /// The workloads of these forecasts, as far as they have ended, by id.
    async fn ended_of(
        &self,
        group: GroupKey,
        forecasts: &[FirstForecast],
    ) -> Result<BTreeMap<String, WorkloadMembers>> {
        let ids: Vec<&str> = forecasts.iter().map(|forecast| forecast.workload_id.as_str()).collect();
        let sessions: Vec<Uuid> = ids.iter().filter_map(|id| id.parse().ok()).collect();
        let users: BTreeSet<UserId> = forecasts.iter().map(|forecast| forecast.user).collect();
        let users: Vec<UserId> = users.into_iter().collect();
        load_ended(self.store().read(), group, &ids, &users, &sessions).await
    }
}
