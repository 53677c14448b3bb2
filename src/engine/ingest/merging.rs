//! Merges reports with what is known of their kernels. A dry run does the same and stores nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::domain_assignment::{IndexedReports, is_recorded_elsewhere, settle_domains};
use super::earlier::EarlierReports;
use super::foreign_owners::ForeignOwners;
use super::incoming::{IncomingReport, NamedOwner, RefusedReport};
use crate::domain::ids::{KernelId, KernelKey};
use crate::domain::kernel::{InferredEndRule, Kernel, KernelPhase, KernelReport};
use crate::domain::names::UNKNOWN_DOMAIN;
use crate::domain::options::FairShareOptions;
use crate::domain::slice::GapPolicy;
use crate::domain::time::{Day, MICROS_PER_HOUR, MICROS_PER_SECOND, Timestamp};
use crate::engine::FairShareEngine;
use crate::engine::error::{Error, Fault, Result};
use crate::engine::group::reported::ReportedKernels;
use crate::engine::group::transaction::GroupTransaction;
use crate::engine::people::PeopleDirectory;
use crate::store::groups::StoredGroup;
use crate::store::{self, ConnectionTrait};

/// The stored time of a kernel's last report may be older than the real one by this, in seconds.
const SEEN_WITHIN: u32 = 300;

/// Kernels by id.
type ById = BTreeMap<KernelId, Kernel>;

/// The kernels of a batch that the database has.
struct StoredKernels {
    here: ById,
    /// Kernels of other groups.
    elsewhere: BTreeSet<KernelId>,
}

impl StoredKernels {
    async fn look_up(db: &impl ConnectionTrait, group: &str, reports: &IndexedReports) -> Result<Self> {
        let mut ids: Vec<KernelId> = reports.iter().map(|(_, report)| report.id).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut known = Self { here: ById::new(), elsewhere: BTreeSet::new() };
        for (of, kernel) in store::kernels::find_many(db, &ids).await? {
            if of == group {
                known.here.insert(kernel.report.id, kernel);
            } else {
                known.elsewhere.insert(kernel.report.id);
            }
        }
        Ok(known)
    }

    /// Merges every report with what is known about its kernel, in the order of the batch. Returns the reported kernels
    /// by id, each with its state before, and the indices of the reports whose kernels stay in the domain of their records.
    fn merge(
        mut self,
        mut reports: IndexedReports,
        (people, names): (&PeopleDirectory, &[NamedOwner]),
        rule: InferredEndRule,
        kept: RetentionLimits,
        refused: &mut Vec<RefusedReport>,
    ) -> (ReportedKernels, Vec<usize>) {
        let mut recorded_elsewhere = Vec::new();
        // The sort is stable, so reports of one kernel stay in their order.
        reports.sort_by_key(|(_, report)| report.id);
        let mut merged = ReportedKernels::with_capacity(reports.len());
        for (at, mut report) in reports {
            let id = report.id;
            if self.elsewhere.contains(&id) {
                refused.push(of_another_group(at));
                continue;
            }
            let current = merged.last_mut().map(|(_, kernel)| kernel).filter(|kernel| kernel.report.id == id);
            let known = current.as_deref().or_else(|| self.here.get(&id));
            if known.is_none() && report.phase == KernelPhase::Unknown {
                // Nothing says whether it waits, runs or ended long ago. The answer warns of it.
                continue;
            }
            if !names[at].has_domain {
                keep_domain(known, &mut report);
            }
            // The usage is recorded in another domain already, so the report must not make the domain that it names.
            if let Some(known) = known.filter(|known| is_recorded_elsewhere(people, known, &report)) {
                report.domain.clone_from(&known.report.domain);
                recorded_elsewhere.push(at);
            }
            match (merge_report(known, report, rule, kept), current) {
                (Ok(kernel), Some(current)) => *current = kernel,
                (Ok(kernel), None) => merged.push((self.here.remove(&id), kernel)),
                (Err(fault), _) => refused.push(RefusedReport { at, fault }),
            }
        }
        refused.sort_by_key(|refused| refused.at);
        (merged, recorded_elsewhere)
    }
}

/// A kernel that has ended stays in its domain if a report names none, even if its project has moved.
fn keep_domain(known: Option<&Kernel>, report: &mut KernelReport) {
    let ended = known.filter(|known| known.report.terminated_at.is_some() && known.report.domain != UNKNOWN_DOMAIN);
    if let Some(known) = ended {
        report.domain.clone_from(&known.report.domain);
    }
}

/// The kernel after `report`.
fn merge_report(
    known: Option<&Kernel>,
    report: Box<KernelReport>,
    rule: InferredEndRule,
    kept: RetentionLimits,
) -> std::result::Result<Kernel, Fault> {
    kept.check(known, &report)?;
    let is_kept = known.map_or(Ok(()), |known| known.check_purged(&report, kept.records_from));
    let before = known.map(|known| known.clone().without_disproved_end(&report, rule));
    let merged = is_kept.and_then(|()| Kernel::merge(before, report)).map(|kernel| kernel.first_reported_by(rule.now));
    merged.map_err(|conflict| Fault::new(format!("/{}", conflict.key()), conflict.code(), conflict.to_string()))
}

pub(super) fn of_another_group(at: usize) -> RefusedReport {
    let detail = "the kernel belongs to another resource group";
    RefusedReport { at, fault: Fault::new("/kernel_id", "kernel_of_another_group", detail) }
}

/// The times from which on a group has kept its rows.
#[derive(Clone, Copy)]
struct RetentionLimits {
    /// Records before this time were purged, or are in a history.
    records_from: Timestamp,
    /// Kernels that ended before this time were removed.
    kernels_from: Timestamp,
}

impl RetentionLimits {
    fn of(group: &StoredGroup) -> Self {
        Self {
            records_from: group.records_from.map(Day::start).max(group.earlier_until).unwrap_or(Timestamp::EPOCH),
            kernels_from: group.kernels_from.unwrap_or(Timestamp::EPOCH),
        }
    }

    /// Refuses usage of a kernel that may have been counted and removed: its start is not known, and it ended, or may
    /// have ended, before the removed kernels did.
    fn check(self, known: Option<&Kernel>, report: &KernelReport) -> std::result::Result<(), Fault> {
        let from = self.kernels_from;
        if known.is_some_and(|known| known.report.started_at.is_some()) {
            return Ok(());
        }
        let removed = || {
            let them = format!("kernels that ended before {from} are removed (keep_kernels_days)");
            format!(
                "{them}, and the group has recorded usage of days on which this one ran, so it may have been counted already; if \
                 it was not, give it to a resource group of its own (`fairshared import … --resource-group NAME`), which reports \
                 add to the others"
            )
        };
        match (report.started_at, report.terminated_at) {
            (start, Some(end)) if end < from && (start.is_some() || known.is_none()) => {
                let detail = format!("the kernel ended at {end}; {}", removed());
                Err(Fault::new("/terminated_at", "too_old", detail))
            }
            (Some(start), None) if start < from => {
                let detail = format!(
                    "the kernel started at {start} and is not known; kernels that ended before {from} are removed \
                     (keep_kernels_days), so this one may have been counted already; if it still runs, report it with a later \
                     start, and it counts from there on"
                );
                Err(Fault::new("/started_at", "too_old", detail))
            }
            _ => Ok(()),
        }
    }
}

/// The reports of a batch, merged with what is known of their kernels.
pub(super) struct MergedReports {
    pub kernels: ReportedKernels,
    /// The indices of reports that name another domain than that of their kernel's records, where the kernel stays.
    pub recorded_elsewhere: Vec<usize>,
    /// The kernels whose time of report has to be stored.
    pub seen: Vec<KernelKey>,
}

/// Merges every report with what is known about its kernel, in the order of the batch. For a snapshot, the group notes
/// its time.
pub(super) async fn merge(
    session: &GroupTransaction,
    reports: IndexedReports,
    names: &[NamedOwner],
    taken_at: Option<Timestamp>,
    refused: &mut Vec<RefusedReport>,
) -> Result<MergedReports> {
    let group = &session.state().group;
    let known = StoredKernels::look_up(session.read(), &group.name, &reports).await?;
    let rule = inferred_end_rule(&session.state().options, session.now);
    let limits = RetentionLimits::of(group);
    let (mut kernels, recorded_elsewhere) = known.merge(reports, (&session.people(), names), rule, limits, refused);
    let seen = if taken_at.is_none() { to_be_noted(session, &kernels) } else { Vec::new() };
    kernels.retain(|(old, kernel)| old.as_ref() != Some(kernel));
    Ok(MergedReports { kernels, recorded_elsewhere, seen })
}

/// The kernels whose time of report has to be stored. If a whole group is reported again and again, this is not done
/// every time. If snapshots are used it is, because they compare this time with their own.
fn to_be_noted(session: &GroupTransaction, merged: &ReportedKernels) -> Vec<KernelKey> {
    let state = session.state();
    let stale = match (state.group.snapshot_at, state.options.kernel_timeout_seconds) {
        (Some(_), _) => 0,
        (None, timeout) => timeout.map_or(SEEN_WITHIN, |seconds| (seconds / 4).min(SEEN_WITHIN)),
    };
    let before = session.now.plus_micros(-i64::from(stale) * MICROS_PER_SECOND);
    let due = |kernel: &Kernel| {
        let is_due = !kernel.settled && kernel.seen_at.is_none_or(|at| at <= before);
        kernel.key.filter(|_| is_due)
    };
    merged.iter().filter_map(|(old, _)| due(old.as_ref()?)).collect()
}

/// The rule for the time after an inferred end.
fn inferred_end_rule(options: &FairShareOptions, now: Timestamp) -> InferredEndRule {
    let kept_hours = match options.gap_policy {
        GapPolicy::Interpolate => options.max_gap_hours,
        GapPolicy::Ignore => 0,
    };
    InferredEndRule { now, kept_from: now.plus_micros(-(i64::from(kept_hours) * MICROS_PER_HOUR)) }
}

/// The kernels as they would be after the batches of a dry run.
#[derive(Default)]
pub struct DryRunKernels(ById);

impl FairShareEngine {
    /// The reports of `batch` that [`FairShareEngine::take_reports`] would refuse after the batches of `rehearsal`, from a sender
    /// whose key reaches only the groups `reached`; `None` for all. Nothing is stored.
    #[tracing::instrument(
        name = "engine.ingest.merging.rehearse",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub(crate) async fn rehearse(
        &self,
        reached: Option<&[String]>,
        group: &str,
        rehearsal: &mut DryRunKernels,
        batch: Vec<IncomingReport>,
    ) -> Result<Vec<RefusedReport>> {
        let group_snapshot = self.published_group(group)?;
        let split = batch.into_iter().map(|incoming| incoming.split(0)).enumerate();
        let (mut names, mut reports): (Vec<NamedOwner>, IndexedReports) =
            split.map(|(at, (named, report))| (named, (at, report))).unzip();
        let foreign = ForeignOwners::new(self, &[reached]);
        let (mut refused, _) = settle_domains(&self.people(), &foreign, &mut names, &mut reports);
        let stored = store::groups::find(self.store().read(), group).await?;
        let stored = stored.ok_or_else(|| Error::unknown_group(group))?;
        let (db, now) = (self.store().read(), self.trusted_now());
        Box::pin(EarlierReports::set_aside(db, self, &stored, &mut reports, now)).await?;
        let mut known = StoredKernels::look_up(self.store().read(), group, &reports).await?;
        let rehearsed = reports.iter().filter_map(|(_, r)| Some((r.id, rehearsal.0.get(&r.id)?.clone())));
        known.here.extend(rehearsed);
        let kept = RetentionLimits::of(&stored);
        let rule = inferred_end_rule(&group_snapshot.facts.options, self.trusted_now());
        let (merged, _) = known.merge(reports, (&self.people(), &names), rule, kept, &mut refused);
        rehearsal.0.extend(merged.into_iter().map(|(_, kernel)| (kernel.report.id, kernel)));
        Ok(refused)
    }
}
