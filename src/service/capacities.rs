//! Dated capacities that a back-fill brings (§5).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::audit::Change;
use super::group::session::Session;
use super::work::detached;
use super::{Caller, Result, Service};
use crate::domain::capacity::CapacitySource;
use crate::domain::slots::Amounts;
use crate::domain::time::Day;
use crate::store;

impl Service {
    /// The capacity of every day of which one is known, by date.
    pub async fn capacity_days(&self, caller: &Caller, group: &str) -> Result<Vec<(Day, Amounts)>> {
        caller.require_reader()?;
        self.group(caller, group)?;
        let calendar = store::capacity::load(self.store().read(), group).await?;
        Ok(calendar.days().map(|(day, known)| (day, Amounts::clone(&known.capacity))).collect())
    }

    /// Brings dated capacities. What the service observed itself stands. Returns
    /// how many days that changed.
    pub async fn give_capacities(
        self: &Arc<Self>,
        caller: Caller,
        group: &str,
        mut days: BTreeMap<Day, Amounts>,
    ) -> Result<u64> {
        caller.require_admin()?;
        let (service, group) = (Arc::clone(self), group.to_owned());
        detached(async move {
            let mut session = Session::open(&service, &caller, &group).await?;
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
            session.recompute_histories().await?;
            let change = Change {
                caller: &caller,
                action: "capacities.give",
                target: group.clone(),
                before: None,
                after: Some(json!({"days": count})),
                reason: None,
            };
            session.audit(change).await?;
            session.commit().await?;
            Ok(count)
        })
        .await
    }
}
