//! Buckets folded again from their records: single chains, or all of a group.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::day_totals;
use crate::domain::bucket::{Bucket, Daily};
use crate::domain::ids::{GroupKey, Owner};
use crate::domain::maps::FastMap;
use crate::domain::options::MAX_DECAY_UNIT_DAYS;
use crate::domain::time::Day;
use crate::service::Result;
use crate::service::group::session::Session;
use crate::service::group::state::GroupState;
use crate::service::work::background;
use crate::service::{Service, Work};
use crate::store;
use crate::store::{ConnectionTrait, StreamTrait};

/// Records that are in memory at the same time.
const PAGE: u64 = 20_000;

impl Service {
    /// Folds the group's buckets again from its records. Returns how many buckets differed.
    #[tracing::instrument(name = "service.accounting.folding.rebuild", level = "debug", skip_all, err(level = "debug"))]
    pub async fn rebuild(self: &Arc<Self>, work: impl Into<Work>) -> Result<u64> {
        self.check_clock()?;
        let change = async |session: &mut Session| {
            let (tx, state) = session.parts();
            let changed = rebuild_buckets(tx, state).await?;
            day_totals::rebuild(tx, state).await?;
            // Histories are calculated anew as well, whatever is known of them.
            state.calculation = None;
            state.group.run_times_made = false;
            session.recompute_histories().await?;
            session.store_all_shares();
            Ok(changed)
        };
        background(Arc::clone(self).change_in_run(work.into(), change)).await
    }
}

/// Folds single chains again from their records. Returns the first day of which a user has got, or lost, a bucket of that day
/// alone.
pub async fn refold_entities(session: &mut Session, refold: BTreeMap<Owner, Day>) -> Result<Option<Day>> {
    if refold.is_empty() {
        return Ok(None);
    }
    let ledger = &session.state().ledger;
    let starts: BTreeMap<Owner, Day> =
        refold.into_iter().map(|(e, day)| (e.clone(), ledger.refold_from(&e, day))).collect();
    let from = starts.values().min().copied().unwrap_or(Day::MIN);
    let group = session.key();
    let daily = fold_records(session.read(), group, from, |entity| starts.contains_key(entity)).await?;
    let unit = session.state().options.decay_unit_days;
    let empty = BTreeMap::new();
    let mut first_other = None;
    for (entity, from) in &starts {
        let ledger = &mut session.state_mut().ledger;
        let before = ledger.single_days(entity, *from);
        ledger.refold(entity, *from, unit, daily.get(entity).unwrap_or(&empty));
        if matches!(entity, Owner::User(_)) {
            let others = &before ^ &ledger.single_days(entity, *from);
            first_other = first_other.into_iter().chain(others.first().copied()).min();
        }
    }
    Ok(first_other)
}

type DailySums = FastMap<Owner, BTreeMap<Day, Daily>>;

/// Sums the records since `from` by entity and day, for the entities wanted.
async fn fold_records(
    db: &impl ConnectionTrait,
    group: GroupKey,
    from: Day,
    wanted: impl Fn(&Owner) -> bool,
) -> Result<DailySums> {
    let mut sums = DailySums::default();
    let mut domains: hashbrown::HashSet<Arc<str>> = hashbrown::HashSet::new();
    let mut position = None;
    loop {
        let (records, next) = store::records::page(db, group, from, position, PAGE).await?;
        if records.is_empty() {
            return Ok(sums);
        }
        position = next;
        for record in &records {
            let domain = Arc::clone(domains.get_or_insert_with(record.domain.as_str(), |n| Arc::from(n)));
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

/// Folds all buckets of the group again, for the days that records cover in full; snapshots of
/// capacities are kept. Returns how many buckets changed.
pub async fn rebuild_buckets(db: &(impl ConnectionTrait + StreamTrait), state: &mut GroupState) -> Result<u64> {
    let records_from = state.group.records_from;
    let purged = records_from.is_some();
    let from = records_from.unwrap_or(Day::MIN);
    state.load_back_to(db, from.back(MAX_DECAY_UNIT_DAYS)).await?;
    let daily = fold_records(db, state.group.key, from, |_| true).await?;
    let unit = state.options.decay_unit_days;
    let mut entities: Vec<Owner> = daily.keys().cloned().chain(state.ledger.chains().map(|(e, _)| e.clone())).collect();
    entities.sort_unstable();
    entities.dedup();
    let empty = BTreeMap::new();
    let before = state.ledger.clone();
    for entity in entities {
        // A bucket that began before the first kept record cannot be folded again; it stands.
        let from = if purged {
            state
                .ledger
                .chain(&entity)
                .iter()
                .find(|b| b.start < from && b.closes() > from)
                .map_or(from, Bucket::closes)
        } else {
            from
        };
        state.ledger.refold(&entity, from, unit, daily.get(&entity).unwrap_or(&empty));
    }
    state.ledger.settle_capacities();
    Ok(state.ledger.keep_only_differences(&before))
}
