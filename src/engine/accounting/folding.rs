//! Folds buckets again from their records, or from day totals if the records are purged: single chains, or all of a
//! group.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::day_totals;
use super::day_usage::{DayUsageSource, UnsavedUsage};
use crate::domain::bucket::DayUsage;
use crate::domain::ids::{GroupKey, Owner};
use crate::domain::maps::FastMap;
use crate::domain::options::MAX_DECAY_UNIT_DAYS;
use crate::domain::time::Day;
use crate::engine::FairShareEngine;
use crate::engine::error::Result;
use crate::engine::group::state::GroupState;
use crate::engine::group::transaction::GroupTransaction;
use crate::engine::leases::LeasedWork;
use crate::engine::work::run_in_background;
use crate::store;
use crate::store::{ConnectionTrait, StreamTrait};

/// The number of records that are in memory at the same time.
const PAGE_RECORDS: u64 = 20_000;

impl FairShareEngine {
    /// Folds the group's buckets again from its records. Returns the number of buckets that differed.
    #[tracing::instrument(name = "engine.accounting.folding.rebuild", level = "debug", skip_all, err(level = "debug"))]
    pub async fn rebuild(self: &Arc<Self>, work: impl Into<LeasedWork>) -> Result<u64> {
        self.check_clock()?;
        let change = async |session: &mut GroupTransaction| {
            let (tx, state) = session.parts();
            let records_from = state.group.records_from;
            let changed = rebuild_buckets(tx, state, records_from).await?;
            day_totals::rebuild(tx, state).await?;
            // Histories are calculated again in any case.
            state.calculation = None;
            state.group.run_times_made = false;
            session.recompute_histories().await?;
            session.store_all_shares();
            Ok(changed)
        };
        run_in_background(Arc::clone(self).change_in_run(work.into(), change)).await
    }
}

/// Folds single chains again from records and day totals.
pub async fn refold_entities(
    session: &mut GroupTransaction,
    refold: BTreeMap<Owner, Day>,
    unsaved: Option<UnsavedUsage<'_>>,
) -> Result<()> {
    if refold.is_empty() {
        return Ok(());
    }
    let ledger = &session.state().ledger;
    let starts: BTreeMap<Owner, Day> =
        refold.into_iter().map(|(e, day)| (e.clone(), ledger.refold_from(&e, day))).collect();
    let from = starts.values().min().copied().unwrap_or(Day::MIN);
    let source = DayUsageSource::of(session.state()).with(unsaved);
    let (group, records_from) = (session.key(), session.state().group.records_from.unwrap_or(Day::MIN));
    let mut daily =
        fold_records(session.read(), group, from.max(records_from), |entity| starts.contains_key(entity)).await?;
    let mut next = source.next_with_only_total(session.read(), from).await?;
    while let Some(day) = next {
        for (_, entity, sum) in source.sums_of_day(session.read(), day).await?.by_owner() {
            if starts.contains_key(&entity) {
                daily.entry(entity).or_default().insert(day, sum.into_owned());
            }
        }
        next = source.next_with_only_total(session.read(), day.plus(1)).await?;
    }
    let unit = session.state().options.decay_unit_days;
    let empty = BTreeMap::new();
    let ledger = &mut session.state_mut().ledger;
    for (entity, from) in &starts {
        ledger.refold(entity, *from, unit, daily.get(entity).unwrap_or(&empty));
    }
    Ok(())
}

type DailySums = FastMap<Owner, BTreeMap<Day, DayUsage>>;

/// Sums the records since `from` by owner and day, for the wanted owners.
async fn fold_records(
    db: &impl ConnectionTrait,
    group: GroupKey,
    from: Day,
    wanted: impl Fn(&Owner) -> bool,
) -> Result<DailySums> {
    let mut sums = DailySums::default();
    let mut position = None;
    loop {
        let (records, next) = store::records::page(db, group, from, position, PAGE_RECORDS).await?;
        if records.is_empty() {
            return Ok(sums);
        }
        position = next;
        for record in &records {
            let domain = Arc::clone(&record.dimensions.domain);
            let (day, usage) = (record.span().start.day(), record.usage());
            for entity in [Owner::User(record.owner), Owner::Project(record.owner.project), Owner::Domain(domain)] {
                if wanted(&entity) {
                    let sum = sums.entry(entity).or_default().entry(day).or_default();
                    sum.add_records(&usage, record.stored.slices.into());
                }
            }
        }
    }
}

/// Folds all buckets of the group again that contain usage of `known_from` or a later day (`None`: all buckets): from
/// records, and from day totals for days whose records are purged. Snapshots of capacities are kept. Returns the number
/// of buckets that changed.
pub async fn rebuild_buckets(
    db: &(impl ConnectionTrait + StreamTrait),
    state: &mut GroupState,
    known_from: Option<Day>,
) -> Result<u64> {
    let from = known_from.unwrap_or(Day::MIN);
    state.load_back_to(db, from.back(MAX_DECAY_UNIT_DAYS)).await?;
    let (group, unit) = (state.group.key, state.options.decay_unit_days);
    let source = DayUsageSource::of(state);
    let records_from = state.group.records_from.unwrap_or(Day::MIN).max(from);
    let mut refolding = state.ledger.begin_refolding(known_from, unit);
    let mut next = source.next_with_only_total(db, from).await?;
    while let Some(day) = next {
        refolding.add(&source.sums_of_day(db, day).await?);
        next = source.next_with_only_total(db, day.plus(1)).await?;
    }
    for (owner, days) in fold_records(db, group, records_from, |_| true).await? {
        for (day, daily) in days {
            refolding.add_day(owner.clone(), day, &daily);
        }
    }
    Ok(refolding.finish())
}
