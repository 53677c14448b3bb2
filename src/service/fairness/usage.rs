//! The usage of all users of a group in a window, recorded or not, in days of the group's capacity.

use super::window::ReportWindow;
use crate::domain::fairness::{DaySpan, MemberUsage};
use crate::domain::ids::Member;
use crate::domain::maps::FastMap;
use crate::domain::normalize::{UsageNormalizer, UsageNormalizers};
use crate::domain::time::{MICROS_PER_DAY, TimeSpan, Timestamp};
use crate::engine::day_history::recent_usage::{CurrentKernels, UnrecordedSpan, UserUsages, recent_uses};
use crate::engine::group::snapshots::GroupSnapshot;
use crate::service::visible_group::VisibleGroup;
use crate::service::{Result, Service};
use crate::store::{self, StoreConnection};

impl Service {
    pub(super) async fn uses(&self, group: &VisibleGroup, window: ReportWindow, now: Timestamp) -> Result<UserUsages> {
        let db = self.reads_for(group.access().client());
        let group = group.published();
        if window == ReportWindow::Now {
            return Ok(held_now(group, now));
        }
        if let ReportWindow::Last(days) = window
            && let Some(uses) = recent_uses(group, &[days], now).pop()
        {
            return Ok(uses);
        }
        let recorded = match window.days(now.day()) {
            Some(days) => usage_of_days(&db, group, days).await?,
            None => usage_of_span(&db, group, window.span(now)).await?,
        };
        let rest = UnrecordedSpan::of(&group.facts, window.span(now), now);
        let of = |member: Member| {
            let recorded = recorded.get(&member).copied().unwrap_or_default();
            rest.with(CurrentKernels::of(&group.facts, member), recorded)
        };
        Ok(group.entitlements().users.iter().map(|row| of(row.member)).collect())
    }
}

/// The usage from buckets, each divided by its own capacity.
async fn usage_of_days(db: &StoreConnection, group: &GroupSnapshot, days: DaySpan) -> Result<FastMap<Member, f64>> {
    let facts = &group.facts;
    let weights = &facts.options.resource_weights;
    let mut normalizers = UsageNormalizers::default();
    let mut used: FastMap<Member, f64> = FastMap::default();
    store::buckets::of_users(db, &facts.name, days, |member, bucket| {
        let normalizer = normalizers.of(&bucket.capacity, weights);
        let part = DaySpan { first: bucket.start, last: bucket.end }.part_in(days);
        *used.entry(member).or_default() += normalizer.normalized(&bucket.usage) * part;
    })
    .await?;
    Ok(used)
}

/// The usage from records, divided by the capacity of today.
async fn usage_of_span(db: &StoreConnection, group: &GroupSnapshot, span: TimeSpan) -> Result<FastMap<Member, f64>> {
    let facts = &group.facts;
    let normalizer = UsageNormalizer::new(&facts.today, &facts.options.resource_weights);
    let mut used: FastMap<Member, f64> = FastMap::default();
    for held in store::records::sums::of_users(db, facts.key, span).await? {
        let usage = held.slots.for_micros(held.micros);
        *used.entry(held.owner).or_default() += normalizer.normalized(&usage);
    }
    Ok(used)
}

/// The slots that running kernels of all users hold, as the usage of a day.
fn held_now(group: &GroupSnapshot, now: Timestamp) -> UserUsages {
    let facts = &group.facts;
    let normalizer = UsageNormalizer::new(&facts.capacity, &facts.options.resource_weights);
    let one = |member: Member| {
        let held = facts.outstanding.held(member, now).for_micros(MICROS_PER_DAY.unsigned_abs());
        let used = normalizer.normalized(&held);
        MemberUsage { used, holds: used > 0.0, waits: facts.waits(member) }
    };
    group.entitlements().users.iter().map(|row| one(row.member)).collect()
}
