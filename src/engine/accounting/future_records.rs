//! Takes back what was recorded for times in the future, which happens while a clock is ahead.

use crate::domain::time::Timestamp;
use crate::engine::error::Result;
use crate::engine::group::transaction::GroupTransaction;
use crate::engine::upkeep::clock_watch::MAX_DIFFERENCE_MICROS;
use crate::store::division_days::DivisionDay;
use crate::store::fairness_days::FairnessDay;
use crate::store::shadow_reports::{ShadowDay, ShadowOwnerDay};
use crate::store::share_days::ShareDay;
use crate::store::{self, day_rows};

/// A kernel that is recorded beyond this time was recorded under a wrong clock.
pub fn latest_trusted_end(now: Timestamp) -> Timestamp {
    now.plus_micros(MAX_DIFFERENCE_MICROS)
}

/// Resets the group's own values to now. Records and cursors of its kernels follow in the run.
pub async fn come_back(session: &mut GroupTransaction) -> Result<()> {
    let (now, limit) = (session.now, latest_trusted_end(session.now));
    let group = session.state().group.clone();
    let latest = group.recorded_until.max(group.capacity_observed_at);
    let Some(until) = latest.filter(|until| *until > limit) else { return Ok(()) };
    let name = group.name.as_str();
    tracing::warn!(group = name, %until, %now, "usage was recorded under a clock that was ahead; what lies ahead is taken back");
    let (today, tomorrow) = (now.day(), now.day().plus(1));
    // Kernels with an end in the future counted as recorded to their ends.
    store::cursors::reopen(session.write(), session.key(), now).await?;
    session.state_mut().group.run_times_made = false;
    session.forget_capacities_ahead(now).await?;
    day_rows::forget_after::<DivisionDay>(session.write(), name, today).await?;
    day_rows::forget_after::<FairnessDay>(session.write(), name, today).await?;
    day_rows::forget_after::<ShareDay>(session.write(), session.key().0, today).await?;
    day_rows::forget_after::<ShadowDay>(session.write(), session.key().0, today).await?;
    day_rows::forget_after::<ShadowOwnerDay>(session.write(), session.key().0, today).await?;
    store::runs::forget_gaps_after(session.write(), name, limit).await?;
    let state = session.state_mut();
    state.take_unsettled();
    // Records of all days until today may have been purged, and those of later days are removed now.
    state.group.records_from = group.records_from.map(|day| day.min(tomorrow));
    state.group.totals_from = group.totals_from.map(|day| day.min(tomorrow));
    Ok(())
}
