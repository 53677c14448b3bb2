//! Suspensions that were reported late: records are taken back, cut or added, so that they are those of a run that had
//! known.

use std::sync::Arc;

use super::run::{AggregateRun, record};
use crate::domain::bucket::Daily;
use crate::domain::kernel::Unsettled;
use crate::domain::slice::{GapPolicy, overlapping};
use crate::domain::slots::Usages;
use crate::domain::time::{Day, Span, Timestamp};
use crate::service::Result;
use crate::service::group::session::Session;
use crate::store;
use crate::store::records::Record;

impl AggregateRun {
    /// Makes the records of `kernel` again where the changes that are known now say something else than those by which
    /// they were made. New records come to `records`.
    pub(super) async fn recount(
        &mut self,
        session: &Session,
        kernel: &Unsettled,
        records: &mut Vec<Record>,
    ) -> Result<()> {
        let (Some(applied), Some(cursor)) = (&kernel.applied, kernel.cursor) else { return Ok(()) };
        // Records that were purged cannot be taken back, so none is added there either.
        let first = session.state().group.records_from.map_or(Timestamp::EPOCH, Day::start);
        let until = kernel.terminated_at.map_or(cursor, |end| end.min(cursor));
        let Some(whole) = Span::new(kernel.started_at.max(first), until) else { return Ok(()) };
        for span in applied.active_but_not_in(&kernel.changes, whole) {
            for known in store::records::overlapping(session.read(), kernel.id, span).await? {
                self.cut(session, known, span).await?;
            }
        }
        for span in kernel.changes.active_but_not_in(applied, whole) {
            for part in self.served(span).into_iter().flat_map(Span::by_day) {
                let usage = kernel.slots.for_micros(part.micros());
                self.added.add(kernel.owner, &kernel.domain, part.start.day(), &usage);
                records.push(record(kernel, part, usage));
            }
        }
        Ok(())
    }

    /// What counts of a time that was not recorded before.
    fn served(&self, span: Span) -> Vec<Span> {
        match self.policy {
            GapPolicy::Interpolate => vec![span],
            GapPolicy::Ignore => span.without(&self.downtimes[overlapping(&self.downtimes, span)]),
        }
    }

    /// Takes `hole` out of a record.
    async fn cut(&mut self, session: &Session, known: Record, hole: Span) -> Result<()> {
        self.done.slices_corrected += 1;
        store::records::delete(session.write(), &known).await?;
        // The same amounts over a shorter time: what was used divides exactly, it was a product.
        let slots = known.usage.map(|usage| usage.mean_over(known.span.micros()));
        let left = known.span.without(&[hole]);
        let parts: Vec<Record> = left
            .into_iter()
            .map(|span| Record { span, usage: slots.for_micros(span.micros()), ..known.clone() })
            .collect();
        store::records::insert(session.write(), &self.group, &parts).await?;
        let mut removed = Daily { usage: known.usage.clone(), records: u64::from(parts.is_empty()) };
        for part in &parts {
            removed.usage.subtract(&part.usage);
        }
        let (domain, day): (Arc<str>, _) = (Arc::from(known.domain.as_str()), known.span.start.day());
        self.removed.add_daily(known.owner, &domain, day, &removed);
        if parts.len() > 1 {
            self.added.add_daily(known.owner, &domain, day, &Daily { usage: Usages::default(), records: 1 });
        }
        Ok(())
    }
}
