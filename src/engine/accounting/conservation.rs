//! The audit that no usage is lost or counted twice (FAIR_SHARE §5). It compares records with buckets, and tier with
//! tier, on live data.

use std::collections::BTreeMap;

use super::difference::UsageDifference;
use super::{day_totals, folding, recalculation, snapshot_audit};
use crate::domain::bucket::Bucket;
use crate::domain::ids::Owner;
use crate::domain::ledger::Ledger;
use crate::domain::slots::SlotUsages;
use crate::domain::time::Day;
use crate::engine::FairShareEngine;
use crate::engine::audit::label;
use crate::engine::error::{Error, Result};
use crate::engine::group::state::GroupState;
use crate::engine::work::run_blocking;
use crate::store;

/// The result of an audit.
#[derive(Clone, Debug)]
pub struct ConservationResult {
    /// The first row that differs; `None` proves conservation.
    pub difference: Option<UsageDifference>,
    pub buckets: u64,
    /// The total usage in the user, project and domain tiers.
    pub totals: [SlotUsages; 3],
    /// The day before which records are purged. Earlier days are compared between tiers only.
    pub records_from: Option<Day>,
}

impl FairShareEngine {
    /// Audits one group as of one moment. No writer waits for it.
    #[tracing::instrument(
        name = "engine.accounting.conservation.audit_conservation",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub(crate) async fn audit_conservation(&self, group: &str) -> Result<ConservationResult> {
        let tx = self.store.begin_snapshot().await?;
        let stored = store::groups::find(&tx, group).await?.ok_or_else(|| Error::unknown_group(group))?;
        let mut state = GroupState::load(&tx, &self.people, stored).await?;
        state.load_back_to(&tx, Day::MIN).await?;
        let stored = state.ledger.clone();
        let mut found = ConservationResult {
            difference: None,
            buckets: 0,
            totals: Default::default(),
            records_from: state.group.records_from,
        };
        for (entity, series) in stored.all_series() {
            for bucket in series.buckets() {
                found.buckets += 1;
                found.totals[tier(entity)].add(&bucket.usage);
            }
        }
        found.difference = match store::records::first_overlap(&tx, state.group.key).await? {
            Some((kernel, at)) => Some(UsageDifference {
                row: format!("kernel:{kernel}"),
                detail: format!("two records overlap at {at}"),
            }),
            None => run_blocking(|| {
                tiers_differ(&stored, found.records_from).or_else(|| {
                    let mut hierarchy = state.hierarchy.clone();
                    let weighed = hierarchy.weigh(state.weighing_terms());
                    let today = self.clock.now().day();
                    recalculation::first_difference(&mut state, &hierarchy, &weighed, today).or_else(|| {
                        let group_snapshot = self.published.get(group)?;
                        snapshot_audit::first_difference(&group_snapshot, &state.group, &hierarchy, &self.people.read())
                    })
                })
            }),
        };
        if found.difference.is_none() {
            // Folding the records again must give exactly the same buckets. The result is not kept.
            folding::rebuild_buckets(&tx, &mut state, found.records_from).await?;
            let changes = state.ledger.take_changes();
            let rows: BTreeMap<(Day, String), (Owner, Day)> =
                changes.upserts.into_iter().chain(changes.deletes).map(|(e, d)| ((d, label(&e)), (e, d))).collect();
            found.difference = rows.into_iter().find_map(|((day, name), (entity, start))| {
                let usage = |ledger: &Ledger| {
                    ledger.bucket(&entity, start).map(|b| (b.usage.filtered(|u| !u.is_zero()), b.end, b.records))
                };
                let (is, should) = (usage(&stored), usage(&state.ledger));
                (is != should).then(|| UsageDifference {
                    row: format!("{name} {day}"),
                    detail: format!(
                        "the bucket holds {}; its records sum to {}",
                        describe(is.as_ref()),
                        describe(should.as_ref())
                    ),
                })
            });
        }
        if found.difference.is_none() {
            found.difference = day_totals::first_difference(&tx, &state, &stored).await?;
        }
        Ok(found)
    }
}

/// Compares the tiers for every range of days that no bucket crosses; with one-day buckets this is every day. Where
/// records are purged, a bucket of several days may be purged in one tier and kept in another, so such days are not
/// compared.
fn tiers_differ(ledger: &Ledger, records_from: Option<Day>) -> Option<UsageDifference> {
    let mut buckets: Vec<(usize, &Bucket)> = Vec::new();
    for (entity, series) in ledger.all_series() {
        buckets.extend(series.buckets().iter().map(|bucket| (tier(entity), bucket)));
    }
    buckets.sort_unstable_by_key(|(_, bucket)| bucket.start);
    let mut rest = buckets.as_slice();
    while let Some((_, first)) = rest.first() {
        let mut last_day = first.end;
        let mut one_day = true;
        let mut sums: [SlotUsages; 3] = Default::default();
        let mut taken = 0;
        for (tier, bucket) in rest {
            if bucket.start > last_day {
                break;
            }
            last_day = last_day.max(bucket.end);
            one_day &= bucket.start == bucket.end;
            sums[*tier].add(&bucket.usage);
            taken += 1;
        }
        rest = &rest[taken..];
        let may_be_purged = !one_day && records_from.is_some_and(|from| first.start < from);
        let [users, projects, domains] = &sums;
        if let (false, Some((name, other))) =
            (may_be_purged, [("project", projects), ("domain", domains)].into_iter().find(|(_, other)| *other != users))
        {
            return Some(UsageDifference {
                row: format!("tier:{name} {}", first.start),
                detail: format!(
                    "from {} to {last_day} users sum to {}, this tier to {}",
                    first.start,
                    users.to_json(),
                    other.to_json()
                ),
            });
        }
    }
    None
}

fn tier(entity: &Owner) -> usize {
    match entity {
        Owner::User(_) => 0,
        Owner::Project(_) => 1,
        Owner::Domain(_) => 2,
    }
}

fn describe(bucket: Option<&(SlotUsages, Day, u64)>) -> String {
    bucket.map_or_else(
        || "nothing".to_owned(),
        |(usage, end, records)| format!("{} to {end} from {records} records", usage.to_json()),
    )
}
