//! The usage of all users of a group in a window, recorded or not, in days of the group's capacity.

use smallvec::SmallVec;

use super::window::Window;
use crate::domain::fairness::{Days, LENGTHS, Use};
use crate::domain::ids::{Member, Owner};
use crate::domain::maps::FastMap;
use crate::domain::normalize::{Normalizer, Normalizers};
use crate::domain::normalized_days::used_within;
use crate::domain::outstanding::{Moment, OwnersKernels};
use crate::domain::parallel;
use crate::domain::time::{MICROS_PER_DAY, Span, Timestamp};
use crate::service::group::published::GroupSnapshot;
use crate::service::group::published::facts::GroupSnapshotData;
use crate::service::{Result, Service};
use crate::store;

/// The usage of users, in the order of the snapshot's entitlements.
pub type Uses = Vec<Use>;

impl Service {
    pub(super) async fn uses(&self, group: &GroupSnapshot, window: Window, now: Timestamp) -> Result<Uses> {
        if window == Window::Now {
            return Ok(held_now(group, now));
        }
        if let Window::Last(days) = window
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
            rest.with(Present::of(&group.facts, member), recorded)
        };
        Ok(group.entitlements().users.iter().map(|row| of(row.member)).collect())
    }

    /// The usage from buckets, each divided by its own capacity.
    async fn usage_of_days(&self, group: &GroupSnapshot, days: Days) -> Result<FastMap<Member, f64>> {
        let facts = &group.facts;
        let weights = &facts.options.resource_weights;
        let mut normalizers = Normalizers::default();
        let mut used: FastMap<Member, f64> = FastMap::default();
        store::buckets::of_users(self.store().read(), &facts.name, days, |member, bucket| {
            let normalizer = normalizers.of(&bucket.capacity, weights);
            let part = Days { first: bucket.start, last: bucket.end }.part_in(days);
            *used.entry(member).or_default() += normalizer.normalized(&bucket.usage) * part;
        })
        .await?;
        Ok(used)
    }

    /// The usage from records, divided by the capacity of today.
    async fn usage_of_span(&self, group: &GroupSnapshot, span: Span) -> Result<FastMap<Member, f64>> {
        let facts = &group.facts;
        let normalizer = Normalizer::new(&facts.today, &facts.options.resource_weights);
        let mut used: FastMap<Member, f64> = FastMap::default();
        for held in store::records::sums::of_users(self.store().read(), facts.key, span).await? {
            let usage = held.slots.for_micros(held.micros);
            *used.entry(held.owner).or_default() += normalizer.normalized(&usage);
        }
        Ok(used)
    }
}

/// The usage from memory for each length in days, if the last calculation was of today and looked back far enough.
fn recent_uses(group: &GroupSnapshot, lengths: &[u32], now: Timestamp) -> Vec<Uses> {
    let facts = &group.facts;
    let Some((normalized_days, last)) =
        facts.calculated_normalized_days().filter(|(_, last)| last.lookback_end == now.day())
    else {
        return Vec::new();
    };
    let lengths = lengths.iter().filter(|days| **days <= last.options.lookback_days);
    let windows = lengths
        .map(|days| (Days::until(now.day(), *days), UnrecordedSpan::of(facts, Window::Last(*days).span(now), now)));
    let windows: SmallVec<[_; LENGTHS.len()]> = windows.collect();
    // Each user is looked up once for all lengths, because the data of users is scattered over the memory.
    let uses = parallel::map(&group.entitlements().users, |row| {
        let normalized_days = normalized_days.of(&row.share, || Owner::User(row.member));
        let present = Present::of(facts, row.member);
        let of = |(days, rest): &(Days, UnrecordedSpan)| {
            rest.with(present, normalized_days.map_or(0.0, |normalized_days| used_within(normalized_days, *days)))
        };
        windows.iter().map(of).collect::<SmallVec<[Use; LENGTHS.len()]>>()
    });
    (0..windows.len()).map(|at| uses.iter().map(|of_user| of_user[at]).collect()).collect()
}

/// The usage that is known without the database, for each length: of that number of days up to the last calculation.
/// Lengths beyond the look-back are left out.
pub(super) fn known_uses(group: &GroupSnapshot, lengths: &[u32], now: Timestamp) -> Vec<Uses> {
    let Some((_, last)) = group.facts.calculated_normalized_days() else { return Vec::new() };
    // A day that is over counts completely.
    recent_uses(group, lengths, now.min(last.lookback_end.plus(1).start().plus_micros(-1)))
}

/// The slots that running kernels of all users hold, as the usage of a day.
fn held_now(group: &GroupSnapshot, now: Timestamp) -> Uses {
    let facts = &group.facts;
    let normalizer = Normalizer::new(&facts.capacity, &facts.options.resource_weights);
    let one = |member: Member| {
        let held = facts.outstanding.held(member, now).for_micros(MICROS_PER_DAY.unsigned_abs());
        let used = normalizer.normalized(&held);
        Use { used, holds: used > 0.0, waits: facts.waits(member) }
    };
    group.entitlements().users.iter().map(|row| one(row.member)).collect()
}

/// The current kernels of a user.
#[derive(Clone, Copy)]
struct Present<'a> {
    /// The kernels that run or are not recorded to their ends.
    kernels: Option<OwnersKernels<'a>>,
    waits: bool,
}

impl<'a> Present<'a> {
    fn of(facts: &'a GroupSnapshotData, member: Member) -> Self {
        Self { kernels: facts.outstanding.of(member), waits: facts.waits(member) }
    }
}

/// Adds unrecorded usage of a span. What users hold and ask for now does not count for a span that is over.
struct UnrecordedSpan {
    normalizer: Normalizer,
    moment: Moment,
    is_over: bool,
}

impl UnrecordedSpan {
    fn of(facts: &GroupSnapshotData, span: Span, now: Timestamp) -> Self {
        let normalizer = Normalizer::new(&facts.today, &facts.options.resource_weights);
        let moment = Moment { since: span.start, now: span.end };
        Self { normalizer, moment, is_over: span.end < now }
    }

    /// Adds unrecorded usage to the recorded one.
    fn with(&self, Present { kernels, waits }: Present, recorded: f64) -> Use {
        let Self { normalizer, moment, is_over } = self;
        let unrecorded = kernels.map_or(0.0, |kernels| normalizer.normalized(&kernels.unrecorded(*moment)));
        let used = recorded + unrecorded;
        Use { used, holds: kernels.is_some() && !is_over, waits: waits && (!is_over || used > 0.0) }
    }
}
