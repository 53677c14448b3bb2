//! A look-back that was shortened: what it reached before goes with the next purge.

use crate::domain::options::Options;
use crate::service::Result;
use crate::service::group::session::Session;
use crate::service::input::warning::InputWarning;
use crate::store::records;

/// A warning if the options of the session's group reach less far than `before`, and the next purge removes records therefore.
pub async fn warnings(session: &Session, before: &Options) -> Result<Vec<InputWarning>> {
    let (state, service) = (session.state(), session.service());
    let reach = |options: &Options| options.lookback_days + options.decay_unit_days;
    let others = service.longest_reach_but(session.group());
    let (now, then) = (reach(&state.options).max(others), reach(before).max(others));
    if now >= then {
        return Ok(Vec::new());
    }
    let today = session.now.day();
    let (from, until) = (state.group.records_from.max(Some(today.back(then))), today.back(now));
    let lost = records::count(session.read(), session.key(), from, until).await?;
    if lost == 0 {
        return Ok(Vec::new());
    }
    let buckets = if service.keep_buckets_days() < then {
        "; buckets older than `keep_buckets_days` go with them, so that a longer look-back finds that usage no more"
    } else {
        "; day totals are kept, so that a longer look-back has its shares again, but kernels of these days can no longer be corrected"
    };
    let (was, is) = (before.lookback_days, state.options.lookback_days);
    let detail = format!(
        "the look-back was shortened from {was} to {is} days: the next purge removes {lost} usage records from before {until}{buckets}. \
         Take the change back before that if it is a mistake"
    );
    Ok(vec![InputWarning::at("/scheduler_opts/lookback_days", "lookback_shortened", detail)])
}
