//! Corrects records after suspensions that were reported late: records are removed, cut or added, so that they are
//! those of a run that had known the suspensions.

use super::run::AggregateRun;
use crate::domain::bucket::DayUsage;
use crate::domain::kernel::OpenKernel;
use crate::domain::slice::{GapPolicy, overlapping_range};
use crate::domain::slots::SlotUsages;
use crate::domain::time::{Day, TimeSpan, Timestamp};
use crate::engine::error::Result;
use crate::engine::group::transaction::GroupTransaction;
use crate::store;
use crate::store::records::{NewRecord, RecordRange, StoredRecord};

impl AggregateRun {
    /// Replaces records of `kernel` where its known suspensions differ from those that the records are based on. New
    /// records are added to `records`.
    pub(super) async fn recount(
        &mut self,
        session: &GroupTransaction,
        kernel: &OpenKernel,
        records: &mut Vec<NewRecord>,
    ) -> Result<()> {
        let (Some(applied), Some(cursor)) = (&kernel.applied, kernel.cursor) else { return Ok(()) };
        // Records that are purged cannot be removed, so none are added for that time either.
        let first = session.state().group.records_from.map_or(Timestamp::EPOCH, Day::start);
        let until = kernel.terminated_at.map_or(cursor, |end| end.min(cursor));
        let Some(whole) = TimeSpan::new(kernel.started_at.max(first), until) else { return Ok(()) };
        for span in applied.active_but_not_in(&kernel.changes, whole) {
            // Records end at midnight.
            let until = span.end.midnight().min(cursor);
            let overlapping = RecordRange { kernel: kernel.key, after: span.start, until };
            for known in store::records::load_record_range(session.read(), self.key, overlapping).await? {
                if known.span().overlap(span).is_some() {
                    self.cut(session, known, span).await?;
                }
            }
        }
        for span in kernel.changes.active_but_not_in(applied, whole) {
            for part in self.served_spans(span).into_iter().flat_map(TimeSpan::by_day) {
                let usage = kernel.slots.for_micros(part.micros());
                self.added.add(kernel.owner, &kernel.dimensions, part.start.day(), &usage);
                records.push(self.record_of(kernel, part));
            }
        }
        Ok(())
    }

    /// The parts of a span that count, of time that was not recorded before.
    fn served_spans(&self, span: TimeSpan) -> Vec<TimeSpan> {
        match self.policy {
            GapPolicy::Interpolate => vec![span],
            GapPolicy::Ignore => span.without(&self.downtimes[overlapping_range(&self.downtimes, span)]),
        }
    }

    /// Removes the time of `hole` from a record.
    async fn cut(&mut self, session: &GroupTransaction, known: StoredRecord, hole: TimeSpan) -> Result<()> {
        let slices = known.stored.slices;
        self.done.slices_corrected += u64::from(slices);
        store::records::delete(session.write(), self.key, known.stored.kernel, [known.span().end]).await?;
        let left = known.span().without(&[hole]);
        // The slices of the record are not known, so the first part counts as all of them.
        let part = |(at, span)| NewRecord { span, slices: if at == 0 { slices } else { 1 }, ..known.stored };
        let parts: Vec<NewRecord> = left.into_iter().enumerate().map(part).collect();
        store::records::insert(session.write(), self.key, &parts).await?;
        let records = if parts.is_empty() { u64::from(slices) } else { 0 };
        let mut removed = DayUsage { usage: known.usage(), records };
        for part in &parts {
            removed.usage.subtract(&known.slots.for_micros(part.span.micros()));
        }
        let day = known.span().start.day();
        self.removed.add_daily(known.owner, &known.dimensions, day, &removed);
        if parts.len() > 1 {
            let one = DayUsage { usage: SlotUsages::default(), records: 1 };
            self.added.add_daily(known.owner, &known.dimensions, day, &one);
        }
        Ok(())
    }
}
