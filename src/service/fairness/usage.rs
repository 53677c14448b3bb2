//! The usage of all users of a group in a window, recorded or not, in days of the group's capacity.

use smallvec::SmallVec;

use super::window::ReportWindow;
use crate::domain::fairness::{DaySpan, MemberUsage, SPAN_DAYS};
use crate::domain::ids::{Member, Owner};
use crate::domain::maps::FastMap;
use crate::domain::normalize::{UsageNormalizer, UsageNormalizers};
use crate::domain::normalized_days::used_within;
use crate::domain::outstanding::{OwnersKernels, RequestMoment};
use crate::domain::parallel;
use crate::domain::time::{MICROS_PER_DAY, TimeSpan, Timestamp};
use crate::service::group::snapshots::GroupSnapshot;
use crate::service::group::snapshots::snapshot_data::GroupSnapshotData;
use crate::service::{Result, Service};
use crate::store;

/// The usage of users, in the order of the snapshot's entitlements.
pub type UserUsages = Vec<MemberUsage>;

impl Service {
    pub(super) async fn uses(&self, group: &GroupSnapshot, window: ReportWindow, now: Timestamp) -> Result<UserUsages> {
        if window == ReportWindow::Now {
            return Ok(held_now(group, now));
        }
        if let ReportWindow::Last(days) = window
            && let Some(uses) = recent_uses(group, &[days], now).pop()
        {
            return Ok(uses);
        }
        let recorded = match window.days(now.day()) {
            Some(days) => self.usage_of_days(group, days).await?,
            None => self.usage_of_span(group, window.span(now)).await?,
        };
        let rest = UnrecordedSpan::of(&group.facts, window.span(now), now);
        let of = |member: Member| {
            let recorded = recorded.get(&member).copied().unwrap_or_default();
            rest.with(CurrentKernels::of(&group.facts, member), recorded)
        };
        Ok(group.entitlements().users.iter().map(|row| of(row.member)).collect())
    }

    /// The usage from buckets, each divided by its own capacity.
    async fn usage_of_days(&self, group: &GroupSnapshot, days: DaySpan) -> Result<FastMap<Member, f64>> {
        let facts = &group.facts;
        let weights = &facts.options.resource_weights;
        let mut normalizers = UsageNormalizers::default();
        let mut used: FastMap<Member, f64> = FastMap::default();
        store::buckets::of_users(self.store().read(), &facts.name, days, |member, bucket| {
            let normalizer = normalizers.of(&bucket.capacity, weights);
            let part = DaySpan { first: bucket.start, last: bucket.end }.part_in(days);
            *used.entry(member).or_default() += normalizer.normalized(&bucket.usage) * part;
        })
        .await?;
        Ok(used)
    }

    /// The usage from records, divided by the capacity of today.
    async fn usage_of_span(&self, group: &GroupSnapshot, span: TimeSpan) -> Result<FastMap<Member, f64>> {
        let facts = &group.facts;
        let normalizer = UsageNormalizer::new(&facts.today, &facts.options.resource_weights);
        let mut used: FastMap<Member, f64> = FastMap::default();
        for held in store::records::sums::of_users(self.store().read(), facts.key, span).await? {
            let usage = held.slots.for_micros(held.micros);
            *used.entry(held.owner).or_default() += normalizer.normalized(&usage);
        }
        Ok(used)
    }
}

/// The usage from memory for each length in days, if the last calculation was of today and looked back far enough.
fn recent_uses(group: &GroupSnapshot, lengths: &[u32], now: Timestamp) -> Vec<UserUsages> {
    let facts = &group.facts;
    let Some((normalized_days, last)) =
        facts.calculated_normalized_days().filter(|(_, last)| last.lookback_end == now.day())
    else {
        return Vec::new();
    };
    let lengths = lengths.iter().filter(|days| **days <= last.options.lookback_days);
    let windows = lengths.map(|days| {
        (DaySpan::until(now.day(), *days), UnrecordedSpan::of(facts, ReportWindow::Last(*days).span(now), now))
    });
    let windows: SmallVec<[_; SPAN_DAYS.len()]> = windows.collect();
    // Each user is looked up once for all lengths, because the data of users is scattered over the memory.
    let uses = parallel::map_items(&group.entitlements().users, |row| {
        let normalized_days = normalized_days.of(&row.share, || Owner::User(row.member));
        let present = CurrentKernels::of(facts, row.member);
        let of = |(days, rest): &(DaySpan, UnrecordedSpan)| {
            rest.with(present, normalized_days.map_or(0.0, |normalized_days| used_within(normalized_days, *days)))
        };
        windows.iter().map(of).collect::<SmallVec<[MemberUsage; SPAN_DAYS.len()]>>()
    });
    (0..windows.len()).map(|at| uses.iter().map(|of_user| of_user[at]).collect()).collect()
}

/// The usage that is known without the database, for each length: of that number of days up to the last calculation.
/// Lengths beyond the look-back are left out.
pub(super) fn known_uses(group: &GroupSnapshot, lengths: &[u32], now: Timestamp) -> Vec<UserUsages> {
    let Some((_, last)) = group.facts.calculated_normalized_days() else { return Vec::new() };
    // A day that is over counts completely.
    recent_uses(group, lengths, now.min(last.lookback_end.plus(1).start().plus_micros(-1)))
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

/// The current kernels of a user.
#[derive(Clone, Copy)]
struct CurrentKernels<'a> {
    /// The kernels that run or are not recorded to their ends.
    kernels: Option<OwnersKernels<'a>>,
    waits: bool,
}

impl<'a> CurrentKernels<'a> {
    fn of(facts: &'a GroupSnapshotData, member: Member) -> Self {
        Self { kernels: facts.outstanding.of(member), waits: facts.waits(member) }
    }
}

/// Adds unrecorded usage of a span. What users hold and ask for now does not count for a span that is over.
struct UnrecordedSpan {
    normalizer: UsageNormalizer,
    moment: RequestMoment,
    is_over: bool,
}

impl UnrecordedSpan {
    fn of(facts: &GroupSnapshotData, span: TimeSpan, now: Timestamp) -> Self {
        let normalizer = UsageNormalizer::new(&facts.today, &facts.options.resource_weights);
        let moment = RequestMoment { since: span.start, now: span.end };
        Self { normalizer, moment, is_over: span.end < now }
    }

    /// Adds unrecorded usage to the recorded one.
    fn with(&self, CurrentKernels { kernels, waits }: CurrentKernels, recorded: f64) -> MemberUsage {
        let Self { normalizer, moment, is_over } = self;
        let unrecorded = kernels.map_or(0.0, |kernels| normalizer.normalized(&kernels.unrecorded(*moment)));
        let used = recorded + unrecorded;
        MemberUsage { used, holds: kernels.is_some() && !is_over, waits: waits && (!is_over || used > 0.0) }
    }
}
