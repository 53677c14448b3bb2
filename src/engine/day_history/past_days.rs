//! The history of days without runs, as runs would have written it. It is for usage that is imported for many days at
//! once.

use std::sync::Arc;

use super::fairness::day_rows;
use super::shares::ShareDayRows;
use crate::domain::fairness::PendingCounts;
use crate::domain::outstanding::OutstandingKernels;
use crate::domain::time::Day;
use crate::engine::FairShareEngine;
use crate::engine::error::{Error, Result};
use crate::engine::group::fork::StateFork;
use crate::engine::group::snapshots::GroupSnapshot;
use crate::engine::group::state::GroupState;
use crate::engine::work::run_blocking;
use crate::store;
use crate::store::fairness_days::FairnessDay;
use crate::store::share_days::ShareDay;

impl FairShareEngine {
    /// Writes factors, ranks and fairness of every day from `first` until yesterday, with the present weights, options
    /// and people. What was held on those days is not known; `waited` contains the owners with pending workloads on
    /// each day.
    #[tracing::instrument(
        name = "engine.day_history.past_days.keep_past_days",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub(crate) async fn keep_past_days(&self, group: &str, first: Day, waited: PendingCounts) -> Result<()> {
        let StateFork { mut state, snapshot, .. } = self.fork(group).await?;
        state.prepare(&snapshot, first.start(), false).await?;
        drop(snapshot);
        state.take_outstanding(OutstandingKernels::default());
        state.asking = waited;
        let (key, today) = (state.group.key, self.moment().trusted_time.day());
        let (shares, fairness) = run_blocking(|| self.past_days(state, first, today));
        let tx = self.store.begin().await?;
        // If the group is deleted at the same time, either the deletion finds these rows, or this write does not find
        // the group.
        if !store::groups::prevent_deletion(&tx, group).await? {
            return Err(Error::unknown_group(group));
        }
        store::share_days::replace_days(&tx, key, shares).await?;
        store::fairness_days::replace_days(&tx, group, fairness).await?;
        tx.commit().await.map_err(store::StoreError::from)?;
        self.previous_ranks.forget(key);
        Ok(())
    }

    /// The rows from yesterday back to `first`. Going back, each day can drop the usage after it.
    fn past_days(&self, mut state: GroupState, first: Day, today: Day) -> (Vec<ShareDay>, Vec<FairnessDay>) {
        let (mut shares, mut fairness) = (Vec::new(), Vec::new());
        let terms = state.weighing_terms();
        for day in (first.0..today.0).rev().map(Day) {
            let end = day.plus(1).start().plus_micros(-1);
            state.ledger.forget_from(day.plus(1));
            state.calculate(end);
            state.hierarchy.weigh(terms);
            let group_snapshot = Arc::new(GroupSnapshot::build(&state, &self.people(), None));
            shares.extend(ShareDayRows::of(&group_snapshot, day).rows());
            fairness.extend(day_rows(&group_snapshot, end));
        }
        (shares, fairness)
    }
}
