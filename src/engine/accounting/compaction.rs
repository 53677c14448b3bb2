//! Compaction of records of closed days: adjacent slices of one kernel with the same slots and the same domain become
//! one record. Its usage is exactly the sum of its slices: slots times time.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::ids::{GroupKey, KernelKey};
use crate::domain::time::{Day, Timestamp};
use crate::engine::FairShareEngine;
use crate::engine::error::{Error, Result};
use crate::engine::group::transaction::GroupTransaction;
use crate::engine::leases::LeasedWork;
use crate::engine::work::run_in_background;
use crate::store::records::NewRecord;
use crate::store::records::ranges::{self, RecordWindow};
use crate::store::{self, ConnectionTrait};

/// The number of records in one step. Steps are small so that no other writer waits for long.
const STEP_RECORDS: u64 = 50_000;

/// The result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionResult {
    pub days: u64,
    /// The number of records that were merged into others.
    pub records_saved: u64,
}

/// The result of one step.
struct CompactionStep {
    saved: u64,
    /// The start of the next step; `None` if the day is done.
    next: Option<Timestamp>,
}

impl FairShareEngine {
    /// Compacts the records of each day that ended at least `raw_days` days ago.
    #[tracing::instrument(
        name = "engine.accounting.compaction.compact",
        level = "debug",
        skip_all,
        err(level = "debug")
    )]
    pub async fn compact(self: &Arc<Self>, work: impl Into<LeasedWork>, raw_days: u32) -> Result<CompactionResult> {
        self.check_clock()?;
        let work = work.into();
        let mut done = CompactionResult::default();
        while let Some(day) = self.next_closed_day(&work.group, raw_days).await? {
            let mut from = Some(day.start().plus_micros(1));
            while let Some(at) = from {
                let change = async move |session: &mut GroupTransaction| compact_from(session, day, at).await;
                let step = run_in_background(Arc::clone(self).change_in_run(work.clone(), change)).await?;
                done.records_saved += step.saved;
                from = step.next;
            }
            done.days += 1;
            if let Err(error) = self.store().tidy_day(day).await {
                tracing::info!(%error, %day, "a partition keeps the room of removed records");
            }
        }
        if done.days > 0 {
            self.shrink_file().await;
        }
        Ok(done)
    }

    /// The first day that is closed and not compacted.
    async fn next_closed_day(&self, group: &str, raw_days: u32) -> Result<Option<Day>> {
        let db = self.store().read();
        let group = store::groups::find(db, group).await?.ok_or_else(|| Error::unknown_group(group))?;
        let closed_before = self.clock().now().day().back(raw_days);
        let from = group.compacted_before.unwrap_or(Day::MIN);
        if from >= closed_before {
            return Ok(None);
        }
        let next = ranges::first_end_from(db, group.key, from.start().plus_micros(1)).await?;
        Ok(next.map(Timestamp::day_ending).filter(|day| *day < closed_before))
    }
}

/// Compacts some records of a day, from `at` on, together with records of earlier steps that they continue.
async fn compact_from(session: &mut GroupTransaction, day: Day, at: Timestamp) -> Result<CompactionStep> {
    let whole = RecordWindow { from: at, to: day.plus(1).start() };
    let (group, tx) = (session.key(), session.read());
    let part = ranges::first_part(tx, group, whole, STEP_RECORDS).await?;
    let mut records = ranges::read(tx, group, part).await?;
    let earlier = RecordWindow { from: day.start().plus_micros(1), to: part.from.plus_micros(-1) };
    let continued = continued_records(tx, group, earlier, &records).await?;
    let keys: Vec<_> = continued.iter().map(key).collect();
    records.extend(continued);
    let before = held_time(&records);
    let count = records.len();
    let merged = merge(records);
    let saved = (count - merged.len()) as u64;
    if saved > 0 {
        if held_time(&merged) != before {
            return Err(Error::internal(format!("records of {day} would not add up to what they were")));
        }
        let taken = if keys.is_empty() { 0 } else { ranges::take_out(session.write(), group, earlier, &keys).await? };
        ranges::replace(session.write(), group, part, &merged).await?;
        let mut stored = ranges::read(session.read(), group, part).await?;
        stored.sort_unstable_by_key(key);
        if taken != keys.len() as u64 || stored != merged {
            return Err(Error::internal(format!("records of {day} were not stored as they are")));
        }
    }
    let is_last = part.to == whole.to;
    if is_last {
        session.state_mut().group.compacted_before = Some(day.plus(1));
    }
    Ok(CompactionStep { saved, next: (!is_last).then_some(part.to) })
}

/// The records in `earlier` that some of `records` continue: of the same kernel and kind, and ending where these begin.
async fn continued_records(
    db: &impl ConnectionTrait,
    group: GroupKey,
    earlier: RecordWindow,
    records: &[NewRecord],
) -> Result<Vec<NewRecord>> {
    let begun_earlier = records.iter().filter(|record| (earlier.from..=earlier.to).contains(&record.span.start));
    let kinds: BTreeMap<_, _> = begun_earlier.map(|r| ((r.span.start, r.kernel), r.kind)).collect();
    if kinds.is_empty() {
        return Ok(Vec::new());
    }
    let keys: Vec<_> = kinds.keys().copied().collect();
    let mut found = ranges::find(db, group, earlier, &keys).await?;
    found.retain(|record| kinds.get(&key(record)) == Some(&record.kind));
    Ok(found)
}

/// Merges records of a day: a record that begins where another one of the same kernel and kind ends becomes part of it.
pub fn merge(mut records: Vec<NewRecord>) -> Vec<NewRecord> {
    records.sort_unstable_by_key(|record| (record.kernel, record.span.end));
    let mut merged: Vec<NewRecord> = Vec::with_capacity(records.len() / 2);
    for record in records {
        match merged.last_mut() {
            Some(last)
                if (last.kernel, last.kind, last.span.end) == (record.kernel, record.kind, record.span.start) =>
            {
                last.span.end = record.span.end;
                last.slices = last.slices.saturating_add(record.slices);
            }
            _ => merged.push(record),
        }
    }
    // Records are stored in the order of their keys.
    merged.sort_unstable_by_key(key);
    merged
}

/// The key of a record within its group.
fn key(record: &NewRecord) -> (Timestamp, KernelKey) {
    (record.span.end, record.kernel)
}

/// For each kernel and kind: the total time, in microseconds, and the number of slices.
fn held_time(records: &[NewRecord]) -> BTreeMap<(KernelKey, i32), (u64, u64)> {
    let mut held = BTreeMap::new();
    for record in records {
        let (micros, slices): &mut (u64, u64) = held.entry((record.kernel, record.kind)).or_default();
        *micros += record.span.micros();
        *slices += u64::from(record.slices);
    }
    held
}
