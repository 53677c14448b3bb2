//! The usage of all users of a group in the last days, recorded or not, in days of the group's capacity, as far as it is known
//! without the database.

use smallvec::SmallVec;

use crate::domain::fairness::{DaySpan, MemberUsage, SPAN_DAYS};
use crate::domain::ids::{Member, Owner};
use crate::domain::normalize::UsageNormalizer;
use crate::domain::normalized_days::used_within;
use crate::domain::outstanding::{OwnersKernels, RequestMoment};
use crate::domain::parallel;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::engine::group::snapshots::GroupSnapshot;
use crate::engine::group::snapshots::snapshot_data::GroupSnapshotData;

/// The usage of users, in the order of the snapshot's entitlements.
pub type UserUsages = Vec<MemberUsage>;

/// The usage from memory for each length in days, if the last calculation was of today and looked back far enough.
pub(crate) fn recent_uses(group: &GroupSnapshot, lengths: &[u32], now: Timestamp) -> Vec<UserUsages> {
    let facts = &group.facts;
    let Some((normalized_days, last)) =
        facts.calculated_normalized_days().filter(|(_, last)| last.lookback_end == now.day())
    else {
        return Vec::new();
    };
    let lengths = lengths.iter().filter(|days| **days <= last.options.lookback_days);
    let windows = lengths.map(|days| {
        let span = DaySpan::until(now.day(), *days);
        (span, UnrecordedSpan::of(facts, span_of(span, now), now))
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

/// The current kernels of a user.
#[derive(Clone, Copy)]
pub(crate) struct CurrentKernels<'a> {
    /// The kernels that run or are not recorded to their ends.
    kernels: Option<OwnersKernels<'a>>,
    waits: bool,
}

impl<'a> CurrentKernels<'a> {
    pub(crate) fn of(facts: &'a GroupSnapshotData, member: Member) -> Self {
        Self { kernels: facts.outstanding.of(member), waits: facts.waits(member) }
    }
}

/// Adds unrecorded usage of a span. What users hold and ask for now does not count for a span that is over.
pub(crate) struct UnrecordedSpan {
    normalizer: UsageNormalizer,
    moment: RequestMoment,
    is_over: bool,
}

impl UnrecordedSpan {
    pub(crate) fn of(facts: &GroupSnapshotData, span: TimeSpan, now: Timestamp) -> Self {
        let normalizer = UsageNormalizer::new(&facts.today, &facts.options.resource_weights);
        let moment = RequestMoment { since: span.start, now: span.end };
        Self { normalizer, moment, is_over: span.end < now }
    }

    /// Adds unrecorded usage to the recorded one.
    pub(crate) fn with(&self, CurrentKernels { kernels, waits }: CurrentKernels, recorded: f64) -> MemberUsage {
        let Self { normalizer, moment, is_over } = self;
        let unrecorded = kernels.map_or(0.0, |kernels| normalizer.normalized(&kernels.unrecorded(*moment)));
        let used = recorded + unrecorded;
        MemberUsage { used, holds: kernels.is_some() && !is_over, waits: waits && (!is_over || used > 0.0) }
    }
}

/// The time of whole days up to `now`.
pub(crate) fn span_of(days: DaySpan, now: Timestamp) -> TimeSpan {
    TimeSpan { start: days.first.start(), end: days.last.plus(1).start().min(now) }
}
