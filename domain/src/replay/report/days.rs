//! The usage of owners on each day of a replay, and the pending jobs at its end.

use super::places::EntityPlaces;
use super::{ByTier, DayFigures, JobStarts};
use crate::fairness::{self, MemberUsage, TierReport};
use crate::normalize::UsageNormalizer;
use crate::replay::history::{ReplayHistory, TraceJob};
use crate::time::{Day, MICROS_PER_SECOND, TimeSpan, Timestamp};

/// The number of days of usage that is compared with shares.
const WINDOW_DAYS: usize = 7;

pub struct ReportDays {
    first: Day,
    /// By day, then by owner.
    uses: Vec<Vec<MemberUsage>>,
    /// The capacity by day. Like usage, it is in units of one day of the largest capacity that is ever offered.
    offered: Vec<f64>,
    last_end: Timestamp,
}

impl ReportDays {
    pub fn new(history: &ReplayHistory, what: &JobStarts) -> Self {
        let started = || history.jobs.iter().zip(what.starts);
        let first = history.jobs.first().map_or(Timestamp::EPOCH, |job| job.submitted_at);
        let ends = started().filter_map(|(job, start)| Some(job.end((*start)?)));
        let last_end = ends.max().unwrap_or(first).max(first);
        let count = last_end.day().days_since(first.day()).unsigned_abs() as usize + 1;
        let normalizer = UsageNormalizer::new(&history.most_offered(), &what.policy.options.resource_weights);
        let mut days = Self {
            first: first.day(),
            uses: vec![vec![MemberUsage::default(); history.owners.len()]; count],
            offered: vec![0.0; count],
            last_end,
        };
        let second = MICROS_PER_SECOND.unsigned_abs();
        let rates: Vec<f64> =
            history.sizes.iter().map(|size| normalizer.normalized(&size.for_micros(second))).collect();
        for (job, start) in started() {
            days.note(job, *start, rates[job.size as usize]);
        }
        days.note_offers(history, &normalizer, first);
        days
    }

    fn place(&self, day: Day) -> usize {
        day.days_since(self.first).max(0).unsigned_abs() as usize
    }

    /// Adds a job. `rate` is its usage in a second.
    fn note(&mut self, job: &TraceJob, start: Option<Timestamp>, rate: f64) {
        let owner = job.owner as usize;
        let (submitted, last) = (self.place(job.submitted_at.day()), self.uses.len());
        let started = start.map_or(last, |start| self.place(start.day()));
        for day in &mut self.uses[submitted.min(last)..started.min(last)] {
            day[owner].waits = true;
        }
        let Some(start) = start else { return };
        for part in TimeSpan::new(start, job.end(start)).into_iter().flat_map(TimeSpan::by_day) {
            let place = self.place(part.start.day());
            let used = &mut self.uses[place][owner];
            used.used += rate * part.micros() as f64 / MICROS_PER_SECOND as f64;
            used.holds |= part.end == part.start.day().plus(1).start();
        }
    }

    fn note_offers(&mut self, history: &ReplayHistory, normalizer: &UsageNormalizer, first: Timestamp) {
        let ends = history.offers.iter().skip(1).map(|offer| offer.from).chain([Timestamp::MAX]);
        for (offer, end) in history.offers.iter().zip(ends) {
            let rate = normalizer.normalized(&offer.slots.for_micros(MICROS_PER_SECOND.unsigned_abs()));
            let span = TimeSpan::new(offer.from.max(first), end.min(self.last_end));
            for part in span.into_iter().flat_map(TimeSpan::by_day) {
                let place = self.place(part.start.day());
                self.offered[place] += rate * part.micros() as f64 / MICROS_PER_SECOND as f64;
            }
        }
    }

    pub fn last_end(&self) -> Timestamp {
        self.last_end
    }

    /// The total usage, in days of the whole cluster.
    pub fn used(&self) -> f64 {
        self.used_by_owner().iter().sum()
    }

    pub fn used_by_owner(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.uses.first().map_or(0, Vec::len)];
        for day in &self.uses {
            for (sum, used) in sums.iter_mut().zip(day) {
                *sum += used.used;
            }
        }
        sums
    }

    pub fn utilisation(&self) -> f64 {
        let offered: f64 = self.offered.iter().sum();
        if offered > 0.0 { self.used() / offered } else { 0.0 }
    }

    /// By day: the usage of all owners in the week that ends with it.
    pub fn used_by_week(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.uses.len()).map(|last| self.week(last).iter().map(|used| used.used).sum())
    }

    /// The usage of each owner in the week that ends with a day, and its running and pending jobs on that day.
    fn week(&self, last: usize) -> Vec<MemberUsage> {
        let mut sums = self.uses[last].clone();
        for day in &self.uses[(last + 1).saturating_sub(WINDOW_DAYS)..last] {
            for (sum, used) in sums.iter_mut().zip(day) {
                sum.used += used.used;
            }
        }
        sums
    }

    pub fn series(&self, places: &EntityPlaces) -> Vec<DayFigures> {
        let figures = |last: usize| {
            let tiers = fairness::report(&places.tree, &places.arrange_by_entity(&self.week(last)));
            let used: f64 = self.uses[last].iter().map(|used| used.used).sum();
            let offered = self.offered[last];
            DayFigures {
                day: self.first.plus(i32::try_from(last).unwrap_or(i32::MAX)),
                misallocated_share: by_tier(&tiers, |tier| tier.misallocated_share),
                jains_index: by_tier(&tiers, |tier| tier.jains_index),
                utilisation: if offered > 0.0 { used / offered } else { 0.0 },
            }
        };
        (0..self.uses.len()).map(figures).collect()
    }
}

fn by_tier(tiers: &[TierReport], figure: impl Fn(&TierReport) -> f64) -> ByTier {
    let of = |tier: usize| tiers.get(tier).map_or(0.0, &figure);
    ByTier { domain: of(0), project: of(1), user: of(2) }
}
