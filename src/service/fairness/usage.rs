//! What every user of a group used in a window, recorded or not, in days of the group's capacity.

use std::sync::Arc;

use super::window::Window;
use crate::domain::fairness::{Days, Use};
use crate::domain::ids::{Member, Owner};
use crate::domain::maps::FastMap;
use crate::domain::normalize::Normalizer;
use crate::domain::outstanding::Moment;
use crate::domain::slots::Amounts;
use crate::domain::time::{MICROS_PER_DAY, Span, Timestamp};
use crate::domain::trail::used_within;
use crate::service::group::published::PublishedGroup;
use crate::service::{Result, Service};
use crate::store;

/// By the places of the users in the picture's entitlements.
pub type Uses = Vec<Use>;

impl Service {
    pub(super) async fn uses(&self, group: &PublishedGroup, window: Window, now: Timestamp) -> Result<Uses> {
        if window == Window::Now {
            return Ok(held_now(group, now));
        }
        if let Window::Last(days) = window
            && let Some(uses) = recent_uses(group, days, now)
        {
            return Ok(uses);
        }
        let recorded = match window.days(now.day()) {
            Some(days) => self.usage_of_days(group, days).await?,
            None => self.usage_of_span(group, window.span(now)).await?,
        };
        let of = |member| recorded.get(&member).copied().unwrap_or_default();
        Ok(with_what_is_not_recorded(group, window.span(now), now, of))
    }

    /// From buckets, each over its own capacity.
    async fn usage_of_days(&self, group: &PublishedGroup, days: Days) -> Result<FastMap<Member, f64>> {
        let facts = &group.facts;
        let weights = &facts.options.resource_weights;
        let mut normalizers: FastMap<usize, (Arc<Amounts>, Normalizer)> = FastMap::default();
        let mut used: FastMap<Member, f64> = FastMap::default();
        store::buckets::of_users(self.store().read(), &facts.name, days, |member, bucket| {
            // By address; each is kept with it, so that no other can move in at that address.
            let (_, normalizer) = normalizers
                .entry(Arc::as_ptr(&bucket.capacity).addr())
                .or_insert_with(|| (Arc::clone(&bucket.capacity), Normalizer::new(&bucket.capacity, weights)));
            let part = Days { first: bucket.start, last: bucket.end }.part_in(days);
            *used.entry(member).or_default() += normalizer.normalized(&bucket.usage) * part;
        })
        .await?;
        Ok(used)
    }

    /// From records, over the capacity of today.
    async fn usage_of_span(&self, group: &PublishedGroup, span: Span) -> Result<FastMap<Member, f64>> {
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

/// From memory, where the last calculation was of today and looked back so far.
fn recent_uses(group: &PublishedGroup, days: u32, now: Timestamp) -> Option<Uses> {
    let (trails, last) = group.facts.calculated_trails()?;
    if last.lookback_end != now.day() || days > last.options.lookback_days {
        return None;
    }
    let window = Days::until(now.day(), days);
    let used = |member| trails.get(&Owner::User(member)).map_or(0.0, |trail| used_within(trail, window));
    Some(with_what_is_not_recorded(group, Window::Last(days).span(now), now, used))
}

/// What is known without asking the database: of so many days until that of the last calculation.
pub(super) fn known_uses(group: &PublishedGroup, days: u32, now: Timestamp) -> Option<Uses> {
    let (_, last) = group.facts.calculated_trails()?;
    // Of a day that is over, all of it.
    recent_uses(group, days, now.min(last.lookback_end.plus(1).start().plus_micros(-1)))
}

/// What everybody's running kernels hold, as the usage of a day.
fn held_now(group: &PublishedGroup, now: Timestamp) -> Uses {
    let facts = &group.facts;
    let normalizer = Normalizer::new(&facts.capacity, &facts.options.resource_weights);
    let one = |member: Member| {
        let held = facts.outstanding.held(member, now).for_micros(MICROS_PER_DAY.unsigned_abs());
        let used = normalizer.normalized(&held);
        Use { used, holds: used > 0.0, waits: facts.waits(member) }
    };
    group.entitlements().users.iter().map(|row| one(row.member)).collect()
}

/// Adds what runs have not recorded of kernels. What is held and asked for now says nothing of a time that is over.
fn with_what_is_not_recorded(
    group: &PublishedGroup,
    span: Span,
    now: Timestamp,
    recorded: impl Fn(Member) -> f64,
) -> Uses {
    let facts = &group.facts;
    let normalizer = Normalizer::new(&facts.today, &facts.options.resource_weights);
    let is_over = span.end < now;
    let moment = Moment { since: span.start, now: span.end };
    let one = |member: Member| {
        let (holds, waits) = (facts.holds(member), facts.waits(member));
        let unrecorded = if holds { normalizer.normalized(&facts.outstanding.unrecorded(member, moment)) } else { 0.0 };
        let used = recorded(member) + unrecorded;
        Use { used, holds: holds && !is_over, waits: waits && (!is_over || used > 0.0) }
    };
    group.entitlements().users.iter().map(|row| one(row.member)).collect()
}
