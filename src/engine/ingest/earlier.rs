//! Reports of kernels that ended before the server keeps usage.
//!
//! No look-back reaches the usage of such a kernel, and the next purge would remove it. So no kernel is created for it.
//! Its usage goes into the day totals of a history, which usage reports count and no purge removes (IMPORTS.md, "Years
//! gone by"). The history notes each kernel and the instant until which it counts, so that a repeated report adds
//! nothing. For a kernel that began before the limit and ended after it, the history has the usage before the limit,
//! and runs record the rest, so that every hour counts once.
//!
//! A kernel that the group knows stays a kernel. If kernels were removed, an unknown kernel of their time may have been
//! counted already. A kernel that used anything leaves a recorded total on each of its days, so a kernel all of whose days
//! have none was never counted, and belongs to the history too. Any other one is refused.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde_json::json;

use super::domain_assignment::IndexedReports;
use crate::domain::bucket::DayUsage;
use crate::domain::ids::KernelId;
use crate::domain::kernel::KernelReport;
use crate::domain::time::{Day, TimeSpan, Timestamp};
use crate::domain::usage_dimensions::UsageDimensions;
use crate::engine::FairShareEngine;
use crate::engine::audit::{AuditAuthor, AuditedChange};
use crate::engine::error::Result;
use crate::engine::group::reported::ReportedKernels;
use crate::engine::group::transaction::GroupTransaction;
use crate::store::day_totals::earlier::{self, EarlierKernel};
use crate::store::day_totals::{self, MemberDomain, RECORDED, histories};
use crate::store::groups::StoredGroup;
use crate::store::{self, ConnectionTrait};

/// The name of the history in every group.
pub const EARLIER_HISTORY: &str = "earlier-kernels";

/// A report that counts in the history.
struct EarlierReport {
    report: Box<KernelReport>,
    /// The part of its time that is new.
    new_span: Option<TimeSpan>,
    /// True if the whole kernel belongs to the history, so that no run records a part of it.
    is_whole: bool,
}

/// The reports of a batch that belong to the history.
pub struct EarlierReports {
    /// A kernel that ended before this time belongs to the history.
    limit: Timestamp,
    /// Kernels that count already, in the history or in recorded usage.
    counted: BTreeMap<KernelId, EarlierKernel>,
    /// The indices in the batch of the reports that count in the history.
    pub places: Vec<usize>,
    /// The time before which all kernels of the history ended that belong to it completely.
    whole_before: Timestamp,
    reports: BTreeMap<KernelId, EarlierReport>,
    /// Reports of kernels that count already. They may still name the domain of a project.
    known: Vec<KernelReport>,
}

/// The start of the kernel, or its end if it never started.
fn begin(report: &KernelReport) -> Option<Timestamp> {
    report.started_at.or(report.terminated_at)
}

impl EarlierReports {
    fn new(limit: Timestamp, counted: BTreeMap<KernelId, EarlierKernel>) -> Self {
        Self { limit, counted, places: Vec::new(), whole_before: limit, reports: BTreeMap::new(), known: Vec::new() }
    }

    /// Removes the reports from `reports` that belong completely to the history.
    pub async fn set_aside(
        db: &impl ConnectionTrait,
        engine: &FairShareEngine,
        group: &StoredGroup,
        reports: &mut IndexedReports,
        now: Timestamp,
    ) -> Result<Self> {
        let kept_from = engine.usage_kept_from(now).start();
        let latest = [group.kernels_from, group.earlier_until].into_iter().flatten().fold(kept_from, Timestamp::max);
        let is_old = |report: &KernelReport| begin(report).is_some_and(|begin| begin < latest);
        let mut ids: Vec<KernelId> = reports.iter().filter(|(_, r)| is_old(r)).map(|(_, r)| r.id).collect();
        if ids.is_empty() {
            return Ok(Self::new(kept_from, BTreeMap::new()));
        }
        ids.sort_unstable();
        ids.dedup();
        let known: HashSet<KernelId> =
            store::kernels::find_many(db, &ids).await?.into_iter().map(|(_, kernel)| kernel.report.id).collect();
        ids.retain(|id| !known.contains(id));
        let counted = earlier::find(db, group.key, &ids).await?;
        // The last report of an end is the one that counts.
        let ids: HashSet<KernelId> = ids.into_iter().collect();
        let mut times: HashMap<KernelId, KernelTimes> = HashMap::new();
        for (_, report) in reports.iter().filter(|(_, report)| ids.contains(&report.id)) {
            let (Some(begin), Some(end)) = (begin(report), report.terminated_at) else { continue };
            let first = times.get(&report.id).map_or(begin, |known| known.begin.min(begin));
            times.insert(report.id, KernelTimes { begin: first, end });
        }
        let limit = history_limit(db, group, kept_from, times.values().map(|times| times.end).min()).await?;
        let uncounted = uncounted_kernels(db, group, limit, &times, &counted).await?;
        times.retain(|id, times| {
            let is_counted = counted.get(id).is_some_and(|known| known.until >= times.end);
            times.end <= limit || is_counted || uncounted.contains(id)
        });
        let mut earlier = Self::new(limit, counted);
        for (at, report) in reports.extract_if(.., |(_, report)| times.contains_key(&report.id)) {
            let is_recorded = earlier.counted.get(&report.id).is_some_and(|known| known.source == RECORDED);
            if let Some(KernelTimes { end, .. }) = times.get(&report.id).filter(|_| !is_recorded)
                && (*end <= limit || uncounted.contains(&report.id))
            {
                earlier.places.push(at);
                earlier.whole_before = earlier.whole_before.max(*end);
            }
            if report.terminated_at.is_some() {
                earlier.take(report);
            }
        }
        Ok(earlier)
    }

    fn take(&mut self, report: Box<KernelReport>) {
        let counted = self.counted.get(&report.id).map(|known| known.until);
        if counted >= report.terminated_at {
            self.known.push(*report);
            return;
        }
        let span = report.started_at.zip(report.terminated_at);
        let new_span =
            span.and_then(|(start, end)| TimeSpan::new(counted.map_or(start, |until| until.max(start)), end));
        self.reports.insert(report.id, EarlierReport { report, new_span, is_whole: true });
    }

    /// Leaves to runs only the usage of new ended kernels after the limit, and takes their usage before it into the
    /// history.
    pub fn cut(&mut self, merged: &mut ReportedKernels) {
        for (_, kernel) in merged.iter_mut().filter(|(old, _)| old.is_none()) {
            let (Some(start), Some(end)) = (kernel.report.started_at, kernel.report.terminated_at) else { continue };
            let counted = self.counted.get(&kernel.report.id).map(|known| known.until);
            let until = counted.map_or(self.limit, |counted| counted.max(self.limit));
            if start >= until || end <= until {
                continue;
            }
            kernel.cursor = Some(until);
            if let Some(span) = TimeSpan::new(counted.map_or(start, |counted| counted.max(start)), self.limit) {
                let cut = EarlierReport { report: kernel.report.clone(), new_span: Some(span), is_whole: false };
                self.reports.insert(kernel.report.id, cut);
            }
        }
    }

    /// Drops the cut-off usage of kernels that are not in `merged` any more.
    pub fn keep_taken(&mut self, merged: &ReportedKernels) {
        if self.reports.values().any(|earlier| !earlier.is_whole) {
            let taken: BTreeSet<KernelId> = merged.iter().map(|(_, kernel)| kernel.report.id).collect();
            self.reports.retain(|id, earlier| earlier.is_whole || taken.contains(id));
        }
    }

    /// The reports of kernels that belong completely to the history and are new to it.
    pub fn new_reports(&self) -> impl Iterator<Item = &KernelReport> {
        self.reports.values().filter(|earlier| earlier.is_whole).map(|earlier| &*earlier.report)
    }

    /// The reports of kernels that count already.
    pub fn known_reports(&self) -> impl Iterator<Item = &KernelReport> {
        self.known.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.reports.is_empty()
    }

    /// The day before which the kernels ended that belong to the history completely.
    pub fn whole_before(&self) -> Day {
        let day = self.whole_before.day();
        if day.start() < self.whole_before { day.plus(1) } else { day }
    }

    /// Stores the new rows of the history. Creates the history, by `author`, if it does not exist.
    pub async fn store(&self, session: &mut GroupTransaction, author: &AuditAuthor) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let key = session.key();
        let source = match histories::find(session.read(), key, EARLIER_HISTORY).await? {
            Some(history) => history.source,
            None => create(session, author).await?,
        };
        let mut totals: BTreeMap<(Day, MemberDomain), DayUsage> = BTreeMap::new();
        for EarlierReport { report, new_span, .. } in self.reports.values() {
            let dimensions = UsageDimensions {
                domain: Arc::from(report.domain.as_str()),
                charge_class: Arc::from(report.charge_class.as_deref().unwrap_or_default()),
            };
            let place = (report.owner, dimensions);
            for part in new_span.iter().flat_map(|span| report.changes.active(*span)).flat_map(TimeSpan::by_day) {
                let daily = totals.entry((part.start.day(), MemberDomain::clone(&place))).or_default();
                daily.add(&report.slots.for_micros(part.micros()));
            }
        }
        histories::add_more(session.write(), key, source, totals).await?;
        let ends = self.reports.iter().filter_map(|(id, earlier)| Some((*id, earlier.report.terminated_at?)));
        let kernels: BTreeMap<KernelId, Timestamp> = ends.collect();
        earlier::save(session.write(), key, source, &kernels).await?;
        let group = &mut session.state_mut().group;
        group.earlier_until = group.earlier_until.max(Some(self.limit));
        Ok(())
    }
}

/// Creates the history, which counts from its first row on. Returns its number.
async fn create(session: &mut GroupTransaction, author: &AuditAuthor) -> Result<i32> {
    let key = session.key();
    let source = histories::create(session.write(), key, EARLIER_HISTORY, session.now).await?;
    histories::set_complete(session.write(), key, source, true).await?;
    let after = Some(json!({"source": EARLIER_HISTORY}));
    let (action, target) = ("usage_history.put", EARLIER_HISTORY.to_owned());
    session.audit_as(author, AuditedChange { action, target, before: None, after, reason: None }).await?;
    Ok(source)
}

/// The time before which ended kernels belong to the history. If kernels were removed, kernels that ended before
/// everything recorded cannot be among the removed ones, so they belong to the history too.
async fn history_limit(
    db: &impl ConnectionTrait,
    group: &StoredGroup,
    kept_from: Timestamp,
    first_end: Option<Timestamp>,
) -> Result<Timestamp> {
    let ends_before = |removed: &Timestamp| first_end.is_some_and(|end| end < *removed);
    let Some(removed) = group.kernels_from.filter(|removed| *removed > kept_from).filter(ends_before) else {
        return Ok(kept_from);
    };
    let recorded = day_totals::next_day(db, group.key, Day::MIN).await?.map_or(removed, Day::start);
    Ok(removed.min(recorded).max(kept_from))
}

/// The begin and the end of a kernel, as a batch reports them.
#[derive(Clone, Copy)]
struct KernelTimes {
    begin: Timestamp,
    end: Timestamp,
}

/// The kernels from after `limit` that ended before the removed ones did and were certainly not counted: the group has
/// recorded nothing on any of their days. Days and not owners decide, because a report may name the owner of a counted
/// kernel in another way.
async fn uncounted_kernels(
    db: &impl ConnectionTrait,
    group: &StoredGroup,
    limit: Timestamp,
    times: &HashMap<KernelId, KernelTimes>,
    counted: &BTreeMap<KernelId, EarlierKernel>,
) -> Result<HashSet<KernelId>> {
    let Some(removed) = group.kernels_from.filter(|removed| *removed > limit) else { return Ok(HashSet::new()) };
    let mut days: Vec<(KernelId, Day, Day)> = Vec::new();
    for (id, times) in times.iter().filter(|(_, times)| times.end > limit && times.end < removed) {
        // The new part of a kernel of the history is what follows the time until which it counts.
        let in_history = counted.get(id).filter(|known| known.source != RECORDED && known.until < times.end);
        let from = in_history.map_or(times.begin, |known| known.until.max(times.begin));
        // An end at midnight uses nothing of the day that begins there.
        days.push((*id, from.day(), times.end.plus_micros(-1).max(from).day()));
    }
    let first = days.iter().map(|(_, first, _)| *first).min();
    let Some(range) = first.zip(days.iter().map(|(.., last)| *last).max()) else { return Ok(HashSet::new()) };
    let recorded = day_totals::days_with_totals(db, group.key, &[RECORDED], range).await?;
    let is_uncounted = |(_, first, last): &&(KernelId, Day, Day)| recorded.range(*first..=*last).next().is_none();
    Ok(days.iter().filter(is_uncounted).map(|(id, ..)| *id).collect())
}

/// Notes new kernels that ended before every look-back. The purge that removes them waits a day; when they are reported
/// again after it, they are known.
pub async fn note_backfill(session: &mut GroupTransaction, merged: &ReportedKernels) -> Result<()> {
    let before = session.now.day().back(session.engine().longest_look_back()).start();
    let new = merged.iter().filter(|(old, _)| old.is_none()).map(|(_, kernel)| &kernel.report);
    let old = new.filter_map(|report| Some((report.id, report.terminated_at.filter(|end| *end < before)?)));
    let old: BTreeMap<KernelId, Timestamp> = old.collect();
    if !old.is_empty() {
        session.state_mut().group.backfilled_at = Some(session.now);
        earlier::save(session.write(), session.key(), RECORDED, &old).await?;
    }
    Ok(())
}
