//! The usage of each bucket over its capacity, before decay. It is in the histories of the shares if a run of this process
//! has calculated them; otherwise it is read from the database.

use std::sync::Arc;

use super::snapshots::normalized_days::NormalizedDaysCache;
use super::snapshots::snapshot_data::GroupSnapshotData;
use crate::domain::capacity::CapacityCalendar;
use crate::domain::explain::count::ContributionScale;
use crate::domain::factor::HistoryDecayer;
use crate::domain::ledger::Ledger;
use crate::engine::FairShareEngine;
use crate::engine::error::Result;
use crate::store::{self, ConnectionTrait, StreamTrait};

impl FairShareEngine {
    /// The normalised days of a snapshot. The first request for them reads them from `db`, unless a run of this process has
    /// calculated them.
    pub(crate) async fn load_normalized_days<'a>(
        &self,
        db: &(impl ConnectionTrait + StreamTrait),
        facts: &'a GroupSnapshotData,
    ) -> Result<&'a NormalizedDaysCache> {
        facts.normalized_days.get_or_try_init(|| self.read_trails(db, facts)).await
    }

    /// Loads the data that does not outlast a restart and that fairness metrics need without a read of the database.
    pub async fn load_all_normalized_days(&self) -> Result<()> {
        for group in self.published.all().values().filter(|group| group.facts.calculation.is_some()) {
            self.load_normalized_days(self.store.read(), &group.facts).await?;
        }
        Ok(())
    }

    async fn read_trails(
        &self,
        db: &(impl ConnectionTrait + StreamTrait),
        facts: &GroupSnapshotData,
    ) -> Result<NormalizedDaysCache> {
        let ContributionScale { today, options } = facts.scale(self.clock().now());
        let mut ledger = Ledger::new(CapacityCalendar::default(), options.window_start(today));
        store::buckets::load(db, &facts.name, &mut ledger, None).await?;
        let decayer = HistoryDecayer::new(options, today);
        ledger.normalize(&decayer);
        Ok(NormalizedDaysCache::Read(Arc::new(ledger.normalized_days(&decayer))))
    }
}
