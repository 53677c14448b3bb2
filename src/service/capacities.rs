//! Capacities of past days from a back-fill (FAIR_SHARE §5).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::{Caller, Result, Service};
use crate::domain::capacity::CapacitySource;
use crate::domain::slots::SlotAmounts;
use crate::domain::time::Day;
use crate::engine::audit::AuditedChange;
use crate::engine::group::transaction::GroupTransaction;
use crate::engine::work::run_to_completion;
use crate::store;

impl Service {
    /// The capacity of every day of which one is known, by date.
    pub async fn capacity_days(&self, caller: &Caller, group: &str) -> Result<Vec<(Day, SlotAmounts)>> {
        caller.require_reader()?;
        self.group(caller, group)?;
        let calendar = store::capacity::load(&self.reads_for(caller.client()), group).await?;
        Ok(calendar.days().map(|(day, known)| (day, SlotAmounts::clone(&known.capacity))).collect())
    }

    /// Stores capacities of days. Those that the service observed itself stay. Returns the number of days that changed.
    #[tracing::instrument(
        name = "service.capacities.give_capacities",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn give_capacities(
        self: &Arc<Self>,
        caller: Caller,
        group: &str,
        mut days: BTreeMap<Day, SlotAmounts>,
    ) -> Result<u64> {
        caller.require_admin()?;
        let change = async move |session: &mut GroupTransaction| {
            let calendar = session.state().ledger.calendar();
            days.retain(|day, capacity| {
                calendar.get(*day).is_none_or(|known| match known.source {
                    CapacitySource::Observed => false,
                    CapacitySource::Given => *known.capacity != *capacity,
                    CapacitySource::Nearest => true,
                })
            });
            let Some(first) = days.keys().next() else { return Ok(0) };
            session.load_buckets_of(*first).await?;
            let count = days.len() as u64;
            session.state_mut().ledger.give_capacities(days);
            session.reconfigure();
            session.recompute_histories().await?;
            let entry = AuditedChange {
                action: "capacities.give",
                target: session.group().to_owned(),
                before: None,
                after: Some(json!({"days": count})),
                reason: None,
            };
            session.audit(entry).await?;
            Ok(count)
        };
        run_to_completion(Arc::clone(self).change(caller, group.to_owned(), change)).await
    }
}
