//! Reports of kernels that ended before the server keeps usage.
//!
//! No look-back reaches the usage of such a kernel, and the next purge would remove it. So no kernel is created for it.
//! Its usage goes into the day totals of a history, which usage reports count and no purge removes (IMPORTS.md, "Years
//! gone by"). The history notes each kernel and the instant until which it counts, so that a repeated report adds
//! nothing. For a kernel that began before the limit and ended after it, the history has the usage before the limit,
//! and runs record the rest, so that every hour counts once.
//!
//! A kernel that the group knows stays a kernel. If kernels were removed, an unknown kernel may have been counted
//! already, unless it ended before everything that the group has recorded. It is refused then, like any other report of
//! that time.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde_json::json;

use super::domain_assignment::IndexedReports;
use crate::domain::bucket::DayUsage;
use crate::domain::ids::KernelId;
use crate::domain::kernel::KernelReport;
use crate::domain::time::{Day, TimeSpan, Timestamp};
use crate::domain::usage_dimensions::UsageDimensions;
use crate::engine::Engine;
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

/// The reports of a batch that belong to the history.
pub struct EarlierReports {
    /// A kernel that ended before this time belongs to the history.
    limit: Timestamp,
    /// Kernels that count already, in the history or in recorded usage.
    counted: BTreeMap<KernelId, EarlierKernel>,
    /// The indices in the batch of the reports that count in the history.
    pub places: Vec<usize>,
    /// By kernel: the report that counts, and the part of its time that is new.
    reports: BTreeMap<KernelId, (Box<KernelReport>, Option<TimeSpan>)>,
    /// Reports of kernels that count already. They may still name the domain of a project.
    known: Vec<KernelReport>,
}

/// The start of the kernel, or its end if it never started.
fn begin(report: &KernelReport) -> Option<Timestamp> {
    report.started_at.or(report.terminated_at)
}

impl EarlierReports {
    fn new(limit: Timestamp, counted: BTreeMap<KernelId, EarlierKernel>) -> Self {
        Self { limit, counted, places: Vec::new(), reports: BTreeMap::new(), known: Vec::new() }
    }

    /// Removes the reports from `reports` that belong completely to the history.
    pub async fn set_aside(
        db: &impl ConnectionTrait,
        engine: &Engine,
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
        let mut ends: HashMap<KernelId, Timestamp> = HashMap::new();
        for (_, report) in reports.iter().filter(|(_, report)| ids.contains(&report.id)) {
            ends.extend(report.terminated_at.map(|end| (report.id, end)));
        }
        let limit = history_limit(db, group, kept_from, ends.values().min().copied()).await?;
        ends.retain(|id, end| *end <= limit || counted.get(id).is_some_and(|known| known.until >= *end));
        let mut earlier = Self::new(limit, counted);
        for (at, report) in reports.extract_if(.., |(_, report)| ends.contains_key(&report.id)) {
            let is_recorded = earlier.counted.get(&report.id).is_some_and(|known| known.source == RECORDED);
            if !is_recorded && ends.get(&report.id).is_some_and(|end| *end <= limit) {
                earlier.places.push(at);
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
        let span = span.and_then(|(start, end)| TimeSpan::new(counted.map_or(start, |until| until.max(start)), end));
        self.reports.insert(report.id, (report, span));
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
                self.reports.insert(kernel.report.id, (kernel.report.clone(), Some(span)));
            }
        }
    }

    /// Drops the cut-off usage of kernels that are not in `merged` any more.
    pub fn keep_taken(&mut self, merged: &ReportedKernels) {
        let limit = self.limit;
        if self.reports.values().any(|(report, _)| report.terminated_at > Some(limit)) {
            let taken: BTreeSet<KernelId> = merged.iter().map(|(_, kernel)| kernel.report.id).collect();
            self.reports.retain(|id, (report, _)| report.terminated_at <= Some(limit) || taken.contains(id));
        }
    }

    /// The reports of kernels that belong completely to the history and are new to it.
    pub fn new_reports(&self) -> impl Iterator<Item = &KernelReport> {
        let limit = Some(self.limit);
        self.reports.values().map(|(report, _)| &**report).filter(move |report| report.terminated_at <= limit)
    }

    /// All reports that were set aside.
    pub fn all_reports(&self) -> impl Iterator<Item = &KernelReport> {
        self.new_reports().chain(&self.known)
    }

    pub fn is_empty(&self) -> bool {
        self.reports.is_empty()
    }

    /// The first day on which reports become kernels of the group.
    pub fn limit(&self) -> Day {
        self.limit.day()
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
        for (report, span) in self.reports.values() {
            let dimensions = UsageDimensions {
                domain: Arc::from(report.domain.as_str()),
                charge_class: Arc::from(report.charge_class.as_deref().unwrap_or_default()),
            };
            let place = (report.owner, dimensions);
            for part in span.iter().flat_map(|span| report.changes.active(*span)).flat_map(TimeSpan::by_day) {
                let daily = totals.entry((part.start.day(), MemberDomain::clone(&place))).or_default();
                daily.add(&report.slots.for_micros(part.micros()));
            }
        }
        histories::add_more(session.write(), key, source, totals).await?;
        let ends = self.reports.iter().filter_map(|(id, (report, _))| Some((*id, report.terminated_at?)));
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
