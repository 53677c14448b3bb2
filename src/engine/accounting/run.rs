//! An accounting run goes over the open kernels of a group. It records their usage and gaps, moves their cursors, and
//! sums up what the buckets have to take (FAIR_SHARE §3, §4).
//!
//! The problem: a run has to count every second of every kernel exactly once, whatever reports, clock corrections and
//! crashes come between two runs, and other writers of the group must not wait long for it.
//!
//! A run therefore consists of steps, each in one transaction. The first step looks at all open kernels; if new kernels
//! bring more than [`MAX_NEW_SUMS`] sums or [`MAX_NEW_RECORDS`] records, it leaves the others to the next step
//! ([`RemainingKernels`]). A step makes the records of one part of the kernels while the database inserts those of the part before,
//! then moves cursors, and finally books the sums in the ledger, from which factors and ranks follow.
//!
//! Invariants:
//! - Usage before a kernel's cursor is recorded, usage after it is not; a step that fails leaves no trace.
//! - A record is within one day (UTC). Its usage is its slots times its time.
//! - After each step the tiers agree with the records (`conservation` proves it).

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;
use std::ops::AddAssign;
use std::sync::Arc;

use futures::future::join;
use serde_json::{Value, json};

use super::day_totals;
use super::day_usage::UnsavedUsage;
use super::folding::refold_entities;
use super::future_records;
use super::placement::place_usage;
use super::source::{OpenKernelSource, RemainingKernels};
use crate::domain::bucket::DayUsage;
use crate::domain::ids::{GroupKey, KernelKey};
use crate::domain::increments::UsageIncrements;
use crate::domain::kernel::{KernelAdvance, KernelPhase, OpenKernel};
use crate::domain::outstanding::OutstandingKernels;
use crate::domain::slice::{self, GapPolicy, RunParameters};
use crate::domain::slots::SlotUsages;
use crate::domain::time::{Day, MICROS_PER_SECOND, TimeSpan, Timestamp};
use crate::engine::FairShareEngine;
use crate::engine::error::Result;
use crate::engine::group::state::{GroupState, UserOccupancy, add_occupied};
use crate::engine::group::transaction::GroupTransaction;
use crate::engine::ingest::inferred::time_out;
use crate::engine::leases::LeasedWork;
use crate::engine::work::{join_with_compute, run_blocking, run_in_background};
use crate::store;
use crate::store::cursors::RunProgress;
use crate::store::records::{NewRecord, RecordRange};
use crate::store::runs::DowntimeGap;
use crate::store::slice_kinds::SliceKinds;

/// The number of cursors that are moved at once.
const CURSOR_BATCH: usize = 20_000;
/// The number of kernels, and of their records, that are processed together.
const PART_KERNELS: usize = 5_000;
/// The number of sums (by user, day and dimensions) from new kernels after which a step leaves the other new kernels to the
/// next step. The changes of a step are in memory until it is stored, and other writers wait for it.
const MAX_NEW_SUMS: usize = 50_000;
/// The number of records from new kernels after which a step does the same.
const MAX_NEW_RECORDS: usize = 80_000;
const KERNELS_BETWEEN_YIELDS: usize = 100;
/// The number of future days that the database is prepared for.
const DAYS_AHEAD: i32 = 3;
/// The number of days back from today that get a partition of their own at most, however far look-backs reach.
const MAX_PARTITION_DAYS: i32 = 400;

/// The result of one `aggregate` run for a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AggregationResult {
    pub kernels: u64,
    pub slices_created: u64,
    /// The number of records that were removed or shortened, because a kernel's end was reported late.
    pub slices_corrected: u64,
    /// A bucket counts each time a step stores it.
    pub buckets_updated: u64,
    pub gaps: u64,
}

impl AddAssign for AggregationResult {
    fn add_assign(&mut self, more: Self) {
        self.kernels += more.kernels;
        self.slices_created += more.slices_created;
        self.slices_corrected += more.slices_corrected;
        self.buckets_updated += more.buckets_updated;
        self.gaps += more.gaps;
    }
}

impl AggregationResult {
    pub fn to_json(self) -> Value {
        json!({
            "kernels": self.kernels, "slices_created": self.slices_created, "slices_corrected": self.slices_corrected,
            "buckets_updated": self.buckets_updated, "gaps": self.gaps,
        })
    }
}

/// The state of one step of a run.
pub(super) struct AggregateRun {
    group: String,
    pub(super) key: GroupKey,
    /// The kinds of records.
    kinds: SliceKinds,
    pub(super) policy: GapPolicy,
    max_gap_hours: u32,
    pub(super) downtimes: Vec<TimeSpan>,
    /// A kernel that is recorded beyond this time was recorded under a clock that was ahead.
    limit: Timestamp,
    /// Kernels whose records of the future were taken back.
    came_back: BTreeSet<KernelKey>,
    /// The new kernels that the step before has left; `None` in the first step, which looks at all kernels.
    rest: Option<RemainingKernels>,
    /// The numbers of sums and records from new kernels so far.
    new_sums: usize,
    new_records: usize,
    /// The first new kernel that is left to the next step.
    left: Option<KernelKey>,
    pub(super) added: UsageIncrements,
    pub(super) removed: UsageIncrements,
    gaps: BTreeMap<usize, GapTally>,
    occupancy: UserOccupancy,
    outstanding: OutstandingKernels,
    /// Records that are not stored yet.
    records: Vec<NewRecord>,
    pub(super) done: AggregationResult,
}

#[derive(Default)]
struct GapTally {
    kernels: u64,
    recorded: SlotUsages,
    dropped: SlotUsages,
}

impl FairShareEngine {
    /// Records usage up to now and recomputes all factors and ranks.
    #[tracing::instrument(name = "engine.accounting.run.aggregate", level = "debug", skip_all, err(level = "debug"))]
    pub async fn aggregate(self: &Arc<Self>, work: impl Into<LeasedWork>) -> Result<AggregationResult> {
        let work = work.into();
        let (mut done, mut rest) = (AggregationResult::default(), None);
        loop {
            self.check_clock()?;
            self.close_day(work.clone()).await?;
            self.prepare_days(&work.group).await?;
            let change = async move |session: &mut GroupTransaction| AggregateRun::step(session, rest).await;
            let part;
            (part, rest) = run_in_background(Arc::clone(self).change_in_run(work.clone(), change)).await?;
            done += part;
            if rest.is_none() {
                return Ok(done);
            }
        }
    }

    /// Prepares partitions in the database for the days that a run may write, and for a few future days.
    async fn prepare_days(&self, group: &str) -> Result<()> {
        if !self.store.has_partitions() {
            return Ok(());
        }
        let Some(group) = store::groups::find(self.store.read(), group).await? else { return Ok(()) };
        let today = self.clock.now().day();
        // This process may not know kernels yet that another process has taken.
        let group_snapshot = self.published.get(&group.name);
        let behind =
            run_blocking(|| group_snapshot.and_then(|group_snapshot| group_snapshot.facts.outstanding.first_behind()));
        let first = behind.into_iter().chain(group.recorded_until).map(Timestamp::day).min().unwrap_or(today);
        // Records that are older than every look-back go to the default partition, until they are purged.
        let reach_days = self.longest_look_back().cast_signed().min(MAX_PARTITION_DAYS);
        let first = first.max(group.records_from.unwrap_or(Day::MIN)).max(today.plus(-reach_days)).min(today);
        if let Err(error) = self.store.prepare_days(first, today.plus(DAYS_AHEAD)).await {
            // Usually a reader holds the table. A later run moves records for which there was no partition.
            tracing::info!(%error, "no partitions were made for the days of a run");
        }
        Ok(())
    }
}

impl AggregateRun {
    /// One step of a run: all kernels, or those in `rest`. Returns its result, and the kernels that it leaves to the
    /// next step.
    async fn step(
        session: &mut GroupTransaction,
        rest: Option<RemainingKernels>,
    ) -> Result<(AggregationResult, Option<RemainingKernels>)> {
        if rest.is_none() {
            day_totals::backfill(session).await?;
            future_records::come_back(session).await?;
            Box::pin(place_usage(session)).await?;
        }
        let mut run = Self::new(session, rest).await?;
        session.observe_capacity().await?;
        session.learn_people().await?;
        if rest.is_none() {
            time_out(session).await?;
        }
        run.scan(session).await?;
        let known = session.key().kernel(session.state().group.kernels_made);
        let left = run.left.map(|from| RemainingKernels { from, to: rest.map_or(known, |rest| rest.to) });
        session.has_more_steps = left.is_some();
        Ok((run.book(session).await?, left))
    }

    async fn new(session: &mut GroupTransaction, rest: Option<RemainingKernels>) -> Result<Self> {
        let (tx, state) = session.parts();
        let kinds = state.take_kinds(tx).await?;
        let options = &session.state().options;
        let shortest = u64::from(options.slice_interval_seconds) * MICROS_PER_SECOND.unsigned_abs();
        Ok(Self {
            group: session.group().to_owned(),
            key: session.key(),
            kinds,
            policy: options.gap_policy,
            max_gap_hours: options.max_gap_hours,
            downtimes: session.engine().downtimes(shortest),
            limit: future_records::latest_trusted_end(session.now),
            came_back: BTreeSet::new(),
            rest,
            new_sums: 0,
            new_records: 0,
            left: None,
            added: UsageIncrements::default(),
            removed: UsageIncrements::default(),
            gaps: BTreeMap::new(),
            occupancy: UserOccupancy::default(),
            outstanding: OutstandingKernels::default(),
            records: Vec::new(),
            done: AggregationResult::default(),
        })
    }

    /// The record of `span`, which is within one day.
    pub(super) fn record_of(&mut self, kernel: &OpenKernel, span: TimeSpan) -> NewRecord {
        let kind = self.kinds.number(&kernel.dimensions, &kernel.slots, span.start.day());
        NewRecord { kernel: kernel.key, span, kind, slices: 1 }
    }

    /// Makes the records of all open kernels and moves their cursors. Stores all records except those of the last part.
    async fn scan(&mut self, session: &mut GroupTransaction) -> Result<()> {
        let now = session.now;
        let leads = self.rest.is_none()
            && session.state().group.recorded_until.is_none_or(|until| until <= now || until > self.limit);
        let mut source = OpenKernelSource::new(session, self.rest);
        let is_full = source.is_full;
        if !is_full {
            // Kernels that no report has changed since the last run are as that run left them.
            self.outstanding = session.state().outstanding.clone();
            self.occupancy = session.state().occupancy.clone();
        }
        let (mut progress, mut is_last) = (RunProgress::default(), false);
        while !is_last {
            // The database inserts the records of one part while those of the next part are made.
            let records = take(&mut self.records);
            let insert = store::records::insert(session.write(), self.key, &records);
            let (inserted, next) = join(insert, self.record(session, &mut source)).await;
            inserted?;
            let part;
            (part, self.records) = next?;
            is_last = source.has_ended(session).await?;
            for mut kernel in part {
                let mut other = is_full || !kernel.keeps_step();
                if kernel.applied.is_some() {
                    progress.recounted.push(kernel.key);
                    kernel.recounted();
                    other = true;
                }
                match kernel.advance(now) {
                    KernelAdvance::Settled => {
                        if let Some((day, times)) = kernel.run_times() {
                            session.state_mut().ended(kernel.owner, day, times);
                        }
                        self.outstanding.remove(kernel.key, kernel.id, kernel.owner);
                        if let Some(end) = kernel.terminated_at {
                            self.outstanding.settled(kernel.id, end);
                        }
                        progress.settled.push(kernel.key);
                        source.forget(kernel.key);
                        continue;
                    }
                    KernelAdvance::Moved if !leads => progress.apart.push(kernel.key),
                    KernelAdvance::Moved if !kernel.in_step => {
                        progress.in_step.push(kernel.key);
                        kernel.in_step = true;
                    }
                    // Nothing is left of what was recorded since the clock was last right.
                    KernelAdvance::Stayed if self.came_back.contains(&kernel.key) => {
                        let cursor =
                            if kernel.cursor.is_some() { &mut progress.apart } else { &mut progress.unrecorded };
                        cursor.push(kernel.key);
                        kernel.in_step = false;
                    }
                    KernelAdvance::Moved | KernelAdvance::Stayed => {}
                }
                if other || !kernel.keeps_step() {
                    self.outstanding.put(&kernel);
                }
                source.keep(kernel);
            }
            if is_last || progress.count() >= CURSOR_BATCH {
                store::cursors::advance_cursors(session.write(), &take(&mut progress), now).await?;
            }
        }
        let mut kinds = take(&mut self.kinds);
        kinds.save(session.write(), self.key).await?;
        let state = session.state_mut();
        state.keep_kinds(kinds);
        state.keep_unsettled(source.take_kept());
        state.occupancy = take(&mut self.occupancy);
        if is_full {
            self.outstanding.remember(&state.outstanding, now);
        } else {
            self.outstanding.forget_ended(now);
        }
        if leads {
            state.group.recorded_until = Some(now);
        }
        if let Some(until) = state.group.recorded_until {
            self.outstanding.set_recorded(until);
        }
        state.take_outstanding(take(&mut self.outstanding));
        self.store_gaps(session).await
    }

    /// Makes the records of the next kernels, limited in number so that neither list grows without bound.
    async fn record(
        &mut self,
        session: &GroupTransaction,
        source: &mut OpenKernelSource,
    ) -> Result<(Vec<OpenKernel>, Vec<NewRecord>)> {
        let (mut part, mut records) = (Vec::new(), Vec::new());
        while part.len() < PART_KERNELS
            && records.len() < PART_KERNELS
            && let Some(mut kernel) = source.next(session).await?
        {
            let is_new = !kernel.in_step && kernel.cursor.is_none() && kernel.applied.is_none();
            let is_due = is_new && kernel.started_at < session.now;
            let is_full = self.new_sums >= MAX_NEW_SUMS || self.new_records >= MAX_NEW_RECORDS;
            let is_left = if is_due { is_full } else { self.rest.is_some() };
            if is_left {
                self.left = self.left.or(is_due.then_some(kernel.key));
                self.leave(kernel, source);
                continue;
            }
            let (sums_before, records_before) = (self.added.count(), records.len());
            self.done.kernels += 1;
            if kernel.applied.is_some() {
                self.recount(session, &kernel, &mut records).await?;
            }
            if kernel.recorded_beyond(self.limit) && kernel.terminated_at.is_none_or(|end| end > session.now) {
                self.come_back(session, &mut kernel).await?;
                self.slice(session, &kernel, &mut records);
            } else if let Some(end) = kernel.terminated_at.filter(|_| kernel.over_recorded()) {
                self.correct(session, &kernel, end).await?;
            } else {
                self.slice(session, &kernel, &mut records);
            }
            if is_new {
                self.new_sums += self.added.count() - sums_before;
                self.new_records += records.len() - records_before;
            }
            self.count_running(&kernel, source);
            part.push(kernel);
            if part.len() % KERNELS_BETWEEN_YIELDS == 0 {
                tokio::task::yield_now().await;
            }
        }
        self.done.slices_created += records.len() as u64;
        Ok((part, records))
    }

    /// Leaves a kernel unchanged.
    fn leave(&mut self, kernel: OpenKernel, source: &mut OpenKernelSource) {
        if source.is_full {
            self.count_running(&kernel, source);
            self.outstanding.put(&kernel);
            source.keep(kernel);
        } else if self.rest.is_some() && self.left.is_some() {
            // The kernels that follow are left as well.
            source.end();
        }
    }

    fn count_running(&mut self, kernel: &OpenKernel, source: &OpenKernelSource) {
        if kernel.phase == KernelPhase::Running && source.is_full {
            add_occupied(&mut self.occupancy, kernel.owner.user, &kernel.slots);
        }
    }

    fn slice(&mut self, session: &GroupTransaction, kernel: &OpenKernel, records: &mut Vec<NewRecord>) {
        let run = RunParameters {
            now: session.now,
            gap_policy: self.policy,
            max_gap_hours: self.max_gap_hours,
            downtimes: &self.downtimes,
        };
        let planned = slice::plan(kernel.started_at, kernel.terminated_at, kernel.cursor, &run);
        let Some(slices) = planned else { return };
        let active = slices.recorded().flat_map(|span| kernel.changes.active(span));
        for span in active.flat_map(TimeSpan::by_day) {
            let usage = kernel.slots.for_micros(span.micros());
            self.added.add(kernel.owner, &kernel.dimensions, span.start.day(), &usage);
            records.push(self.record_of(kernel, span));
        }
        if slices.spanned_downtime {
            self.tally_gap(kernel, &slices);
        }
    }

    fn tally_gap(&mut self, kernel: &OpenKernel, slices: &slice::KernelSlices) {
        let slots = &kernel.slots;
        let from = kernel.cursor.unwrap_or(kernel.started_at);
        let Some(whole) = TimeSpan::new(from, slices.cursor) else { return };
        let spanned = slice::overlapping_range(&self.downtimes, whole);
        let within = |spans: &mut dyn Iterator<Item = TimeSpan>, window: Option<TimeSpan>| {
            spans.filter_map(|s| s.overlap(window?)).map(TimeSpan::micros).sum::<u64>()
        };
        for at in spanned.clone() {
            let downtime = self.downtimes[at];
            // Time that `max_gap_hours` drops outside of a downtime is shown with the gap before it, or with the first
            // gap.
            let from = if at == spanned.start { whole.start } else { downtime.start };
            let until = if at + 1 < spanned.end { self.downtimes[at + 1].start } else { whole.end };
            let tally = self.gaps.entry(at).or_default();
            tally.kernels += 1;
            let mut active = slices.recorded().flat_map(|span| kernel.changes.active(span));
            tally.recorded.add(&slots.for_micros(within(&mut active, Some(downtime))));
            let mut dropped = slices.dropped.iter().flat_map(|span| kernel.changes.active(*span));
            tally.dropped.add(&slots.for_micros(within(&mut dropped, TimeSpan::new(from, until))));
        }
        if self.policy == GapPolicy::Interpolate && !slices.dropped.is_empty() {
            let hours = slices.dropped.iter().map(|s| s.micros()).sum::<u64>() as f64 / 3.6e9;
            tracing::warn!(group = self.group, kernel = %kernel.id, hours, "large gap: hours beyond max_gap_hours dropped");
        }
    }

    async fn store_gaps(&mut self, session: &GroupTransaction) -> Result<()> {
        for (at, tally) in take(&mut self.gaps) {
            let gap = DowntimeGap {
                id: 0,
                downtime: self.downtimes[at],
                handled_at: session.now,
                policy: self.policy.as_str().to_owned(),
                kernels: tally.kernels,
                recorded_usage: tally.recorded,
                dropped_usage: tally.dropped,
            };
            store::runs::add_gap(session.write(), &self.group, &gap).await?;
            self.done.gaps += 1;
        }
        Ok(())
    }

    /// Takes back what was recorded of a kernel for the future. Its cursor moves to the end of what is left.
    async fn come_back(&mut self, session: &GroupTransaction, kernel: &mut OpenKernel) -> Result<()> {
        self.correct(session, kernel, session.now).await?;
        let purged = session.state().group.records_from.is_some_and(|from| kernel.started_at.day() < from);
        let until = kernel.cursor.unwrap_or(session.now);
        let left = RecordRange { kernel: kernel.key, after: kernel.started_at, until };
        let last = store::records::last_end(session.read(), self.key, left).await?;
        // If its records were purged, it is not known what is missing.
        kernel.cursor = last.or_else(|| purged.then_some(session.now));
        self.came_back.insert(kernel.key);
        Ok(())
    }

    /// Takes back what was recorded of a kernel past `end`, because its end was reported late or the clock was ahead.
    async fn correct(&mut self, session: &GroupTransaction, kernel: &OpenKernel, end: Timestamp) -> Result<()> {
        let past = RecordRange { kernel: kernel.key, after: end, until: kernel.cursor.unwrap_or(end) };
        let past = store::records::load_record_range(session.read(), self.key, past).await?;
        if past.is_empty() {
            return Ok(());
        }
        let ends = past.iter().map(|record| record.span().end);
        store::records::delete(session.write(), self.key, kernel.key, ends).await?;
        for record in past {
            let day = record.span().start.day();
            let slices = u64::from(record.stored.slices);
            self.done.slices_corrected += slices;
            let mut removed = DayUsage { usage: record.usage(), records: slices };
            if let Some(span) = TimeSpan::new(record.span().start, end) {
                removed.usage.subtract(&record.slots.for_micros(span.micros()));
                removed.records = 0;
                let shortened = NewRecord { span, ..record.stored };
                store::records::insert(session.write(), self.key, &[shortened]).await?;
            }
            self.removed.add_daily(kernel.owner, &record.dimensions, day, &removed);
        }
        Ok(())
    }

    /// Stores the last records, books the sums in buckets, folds chains again where days do not simply follow, and
    /// calculates the histories.
    async fn book(mut self, session: &mut GroupTransaction) -> Result<AggregationResult> {
        let (added, removed) = (take(&mut self.added).into_sums(), take(&mut self.removed).into_sums());
        let first = added.days().next().into_iter().chain(removed.days().next()).min();
        if let Some(first) = first {
            session.load_chains_of(first).await?;
        }
        let known_from = session.state().known_from();
        let (tx, GroupState { options, ledger, .. }) = session.parts();
        let unit = options.decay_unit_days;
        let insert = store::records::insert(tx, self.key, &self.records);
        let book = || {
            let mut refold = ledger.retract(&removed, known_from);
            for (entity, day) in ledger.apply(&added, unit, known_from) {
                refold.entry(entity).and_modify(|d| *d = day.min(*d)).or_insert(day);
            }
            refold
        };
        let (inserted, refold) = join_with_compute(insert, book).await;
        inserted?;
        refold_entities(session, refold, Some(UnsavedUsage { added: &added, removed: &removed })).await?;
        day_totals::save(session, &added, &removed).await?;
        session.begin_histories().await?;
        self.done.buckets_updated = session.state().ledger.changes().upserts.len() as u64;
        Ok(self.done)
    }
}
