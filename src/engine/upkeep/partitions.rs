//! Watches that records of recent days are in the partitions of their days.

use super::health::HealthCondition;
use crate::engine::FairShareEngine;
use crate::engine::error::Result;

const STRAYS_CODE: &str = "records_without_partition";

impl FairShareEngine {
    /// Notes a condition if records of recent days are not in the partition of their day.
    #[tracing::instrument(name = "engine.upkeep.partitions.watch", level = "debug", skip_all, err(level = "debug"))]
    pub async fn watch_partitions(&self) -> Result<()> {
        let strays = self.store.stray_records().await?;
        if strays == 0 {
            self.health.end(STRAYS_CODE);
            return Ok(());
        }
        let detail = format!(
            "{strays} usage records of recent days lie in no partition of their day; they are moved when a partition can be \
             made, and removed row by row otherwise"
        );
        self.health.begin(HealthCondition { code: STRAYS_CODE, detail, refuses_writes: false }, self.clock.now());
        Ok(())
    }
}
