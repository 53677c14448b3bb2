//! Warns when a look-back is shortened, because the next purge then removes records that it reached before.

use crate::api::input_warning::InputWarning;
use crate::domain::options::FairShareOptions;
use crate::domain::time::Day;
use crate::engine::Engine;
use crate::engine::error::Result;
use crate::engine::group::state::GroupState;
use crate::engine::group::transaction::GroupTransaction;
use crate::store::{ConnectionTrait, records};

/// [`warnings_in`] for the state that a session has changed.
pub async fn warnings(session: &GroupTransaction, before: &FairShareOptions) -> Result<Vec<InputWarning>> {
    warnings_in(session.engine(), session.read(), session.state(), before, session.now.day()).await
}

/// A warning if the options of a group reach less far than those before, so that the next purge removes records.
pub async fn warnings_in(
    engine: &Engine,
    db: &impl ConnectionTrait,
    state: &GroupState,
    before: &FairShareOptions,
    today: Day,
) -> Result<Vec<InputWarning>> {
    let reach_days = |options: &FairShareOptions| options.lookback_days + options.decay_unit_days;
    let others = engine.longest_look_back_except(&state.group.name);
    let (now, then) = (reach_days(&state.options).max(others), reach_days(before).max(others));
    if now >= then {
        return Ok(Vec::new());
    }
    let (from, until) = (state.group.records_from.max(Some(today.back(then))), today.back(now));
    let lost = records::count(db, state.group.key, from, until).await?;
    if lost == 0 {
        return Ok(Vec::new());
    }
    let buckets = if engine.keep_buckets_days() < then {
        "; buckets older than `keep_buckets_days` go with them, so that a longer look-back finds that usage no more"
    } else {
        "; day totals are kept, so that a longer look-back has its shares again, but kernels of these days can no longer be corrected"
    };
    let (was, is) = (before.lookback_days, state.options.lookback_days);
    let records = if lost == 1 { "usage record" } else { "usage records" };
    let detail = format!(
        "the look-back was shortened from {was} to {is} days: the next purge removes {lost} {records} from before {until}{buckets}. \
         Take the change back before that if it is a mistake"
    );
    Ok(vec![InputWarning::at("/scheduler_opts/lookback_days", "lookback_shortened", detail)])
}
