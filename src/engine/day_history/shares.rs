//! The factors and ranks at the end of each day: one row for each domain, project and user.

use std::sync::Arc;

use crate::domain::hierarchy::Share;
use crate::domain::ids::Owner;
use crate::domain::time::Day;
use crate::engine::FairShareEngine;
use crate::engine::error::{Error, Result};
use crate::engine::group::snapshots::GroupSnapshot;
use crate::engine::group::snapshots::entitlements::SnapshotEntitlements;
use crate::engine::leases::LeasedWork;
use crate::engine::work::run_in_background;
use crate::store;
use crate::store::share_days::ShareDay;

/// The number of rows that are written at once. Steps are small so that no other writer waits for long.
const STEP_ROWS: usize = 5_000;

/// The rows of a snapshot for the day of its calculation, in the order in which they are stored.
pub(super) struct ShareDayRows {
    group: Arc<GroupSnapshot>,
    entitlements: Arc<SnapshotEntitlements>,
    day: Day,
    owners: Vec<Owner>,
}

impl ShareDayRows {
    pub(super) fn of(group: &Arc<GroupSnapshot>, day: Day) -> Self {
        let entitlements = Arc::clone(group.entitlements());
        let domains = entitlements.domains.iter().map(|row| Owner::Domain(Arc::clone(&row.domain_name)));
        let projects = entitlements.projects.iter().map(|row| Owner::Project(row.project_id));
        let users = entitlements.users.iter().map(|row| Owner::User(row.member));
        let mut owners: Vec<Owner> = domains.chain(projects).chain(users).collect();
        owners.sort_unstable();
        Self { group: Arc::clone(group), entitlements, day, owners }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = ShareDay> {
        self.owners.iter().filter_map(|owner| self.row(owner))
    }

    fn row(&self, owner: &Owner) -> Option<ShareDay> {
        let rows = &self.group.facts.rows;
        let entitled = self.entitlements.entitlement(owner).entitled;
        let row = |rank: u32, share: &Share| ShareDay {
            day: self.day,
            owner: owner.clone(),
            rank,
            fair_share_factor: share.fair_share_factor,
            normalized_usage: share.history.normalized_usage,
            effective_weight: share.effective_weight.to_string(),
            entitled_share: entitled.of_group,
            entitled_share_of_parent: Some(entitled.of_parent),
        };
        match owner {
            Owner::Domain(name) => rows.placed_domain(name).map(|placed| row(placed.rank, &placed.share)),
            Owner::Project(id) => rows.placed_project(*id).map(|placed| row(placed.rank, &placed.share)),
            Owner::User(member) => rows.placed_user(*member).map(|placed| row(placed.rank, &placed.share)),
        }
    }
}

impl FairShareEngine {
    /// Writes the rows of a past day after its last run, unless a run of the present day has come already. Writing a
    /// day twice gives the same rows.
    #[tracing::instrument(
        name = "engine.day_history.shares.close_day",
        level = "debug",
        skip_all,
        err(level = "debug")
    )]
    pub(crate) async fn close_day(self: &Arc<Self>, work: impl Into<LeasedWork>) -> Result<()> {
        self.check_clock()?;
        let work = work.into();
        let today = self.clock.now().day();
        for group in self.published.closing_day_rows(&work.group, today) {
            self.close_day_of(&work, group).await?;
        }
        Ok(())
    }

    async fn close_day_of(self: &Arc<Self>, work: &LeasedWork, group: Arc<GroupSnapshot>) -> Result<()> {
        let Some(calculation) = &group.facts.calculation else { return Ok(()) };
        self.keep_fairness_of(work.clone(), Arc::clone(&group)).await?;
        let (engine, work, of_day) = (Arc::clone(self), work.clone(), Arc::clone(&group));
        let leaving = ShareDayRows::of(&group, calculation.lookback_end);
        run_in_background(async move {
            for owners in leaving.owners.chunks(STEP_ROWS) {
                let rows = owners.iter().filter_map(|owner| leaving.row(owner)).collect();
                engine.write_days(&work, &leaving.group, rows).await?;
                tokio::task::yield_now().await;
            }
            engine.published.closed(&of_day);
            engine.previous_ranks.forget(of_day.facts.key);
            Ok(())
        })
        .await
    }

    async fn write_days(&self, work: &LeasedWork, group: &GroupSnapshot, rows: Vec<ShareDay>) -> Result<()> {
        let tx = self.store.begin().await?;
        // If the group is deleted at the same time, either the deletion finds these rows, or this write does not find
        // the group.
        if !store::groups::prevent_deletion(&tx, &group.facts.name).await? {
            return Err(Error::unknown_group(&group.facts.name));
        }
        store::share_days::replace_days(&tx, group.facts.key, rows).await?;
        work.check_fence(&tx).await?;
        tx.commit().await.map_err(store::StoreError::from)?;
        Ok(())
    }
}
