//! Warns when a look-back is shortened, because the next purge then removes records that it reached before.

use crate::api::input_warning::InputWarning;
use crate::domain::ids::GroupKey;
use crate::domain::options::FairShareOptions;
use crate::domain::time::Day;
use crate::engine::FairShareEngine;
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
    engine: &FairShareEngine,
    db: &impl ConnectionTrait,
    state: &GroupState,
    before: &FairShareOptions,
    today: Day,
) -> Result<Vec<InputWarning>> {
    let group = &state.group;
    let reach =
        GroupReach { name: &group.name, key: group.key, records_from: group.records_from, options: &state.options };
    let Some(LostRecords { count: lost, until, reached_days }) = lost_records(engine, db, reach, before, today).await?
    else {
        return Ok(Vec::new());
    };
    let buckets = if engine.keep_buckets_days() < reached_days {
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

/// The look-back of a group, and the records that it has.
#[derive(Clone, Copy)]
pub struct GroupReach<'a> {
    pub name: &'a str,
    pub key: GroupKey,
    /// Records of earlier days were purged.
    pub records_from: Option<Day>,
    pub options: &'a FairShareOptions,
}

/// Records that a longer look-back reached and that the next purge removes.
#[derive(Clone, Copy, Debug)]
pub struct LostRecords {
    pub count: u64,
    /// They are of days before this one.
    pub until: Day,
    /// The number of days that the longer look-back reached.
    reached_days: u32,
}

/// The records that the group would lose because its look-back was longer under the options `before`; `None` if there are
/// none.
pub async fn lost_records(
    engine: &FairShareEngine,
    db: &impl ConnectionTrait,
    group: GroupReach<'_>,
    before: &FairShareOptions,
    today: Day,
) -> Result<Option<LostRecords>> {
    let reach_days = |options: &FairShareOptions| options.lookback_days + options.decay_unit_days;
    let others = engine.longest_look_back_except(group.name);
    let (now, then) = (reach_days(group.options).max(others), reach_days(before).max(others));
    if now >= then {
        return Ok(None);
    }
    let (from, until) = (group.records_from.max(Some(today.back(then))), today.back(now));
    let count = records::count(db, group.key, from, until).await?;
    Ok((count > 0).then_some(LostRecords { count, until, reached_days: then }))
}
