//! The batch side: slices, gaps, buckets, factors (§3 to §7), rebuilding and purging. Every run is
//! one transaction per resource group and can be repeated at any time.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use serde_json::{Value, json};

use super::background::background;
use super::folding::{rebuild_buckets, refold_entities};
use super::session::Session;
use super::state::MOST_AT_HAND;
use super::unsettled::Source;
use super::{Caller, PublishedGroup, Result, Service, detached, heavy};
use crate::domain::bucket::Daily;
use crate::domain::capacity::CapacitySource;
use crate::domain::ids::UserId;
use crate::domain::kernel::{Advance, Phase, Unsettled};
use crate::domain::ledger::Increments;
use crate::domain::slice::{self, GapPolicy, Run};
use crate::domain::slots::{Amounts, Usages};
use crate::domain::time::{Day, MICROS_PER_SECOND, Span};
use crate::store;
use crate::store::kernels::Progress;
use crate::store::records::Record;
use crate::store::runs::Gap;

/// Cursors that are moved at once.
const MOVES: usize = 20_000;
/// Kernels, and records of theirs, that are made together.
const PART: usize = 5_000;
const KERNELS_BETWEEN_YIELDS: usize = 100;

/// What one `aggregate` run did for a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aggregated {
    pub kernels: u64,
    pub slices_created: u64,
    /// Records taken back or shortened, because a kernel's end was reported late.
    pub slices_corrected: u64,
    pub buckets_updated: u64,
    pub gaps: u64,
}

impl Aggregated {
    pub fn to_json(self) -> Value {
        json!({
            "kernels": self.kernels, "slices_created": self.slices_created, "slices_corrected": self.slices_corrected,
            "buckets_updated": self.buckets_updated, "gaps": self.gaps,
        })
    }
}

impl Service {
    /// Records usage up to now and recomputes everybody's factor and rank.
    pub async fn aggregate(self: &Arc<Self>, group: &str) -> Result<Aggregated> {
        let (service, group) = (Arc::clone(self), group.to_owned());
        background(async move {
            let mut session = Session::open(&service, &group).await?;
            let mut pass = Pass::new(&session);
            session.observe_capacity().await?;
            refresh_projects(&mut session).await?;
            pass.scan(&mut session).await?;
            let done = pass.book(&mut session).await?;
            session.recompute_histories().await?;
            session.commit().await?;
            Ok(done)
        })
        .await
    }

    /// Folds the group's buckets again from its records. Returns how many buckets differed.
    pub async fn rebuild(self: &Arc<Self>, group: &str) -> Result<u64> {
        let (service, group) = (Arc::clone(self), group.to_owned());
        background(async move {
            let mut session = Session::open(&service, &group).await?;
            let (tx, state) = session.parts();
            let changed = rebuild_buckets(tx, state).await?;
            session.recompute_histories().await?;
            session.commit().await?;
            Ok(changed)
        })
        .await
    }

    /// Removes records that no look-back can reach any more, and buckets of the days before `keep_buckets_days`.
    pub async fn purge(self: &Arc<Self>, group: &str, keep_buckets_days: u32) -> Result<(u64, u64)> {
        let (service, group) = (Arc::clone(self), group.to_owned());
        let longest = self.longest_reach();
        background(async move {
            let mut session = Session::open(&service, &group).await?;
            let today = session.now.day();
            let records_before = today.plus(-longest.cast_signed());
            let records = store::records::purge(session.tx(), &group, records_before).await?;
            if records > 0 || session.state().group.records_from.is_some() {
                let from = session.state().group.records_from.map_or(records_before, |d| d.max(records_before));
                session.state_mut().group.records_from = Some(from);
                session.update().records_from = Some(from);
            }
            let keep = keep_buckets_days.max(longest);
            let buckets = store::buckets::purge(session.tx(), &group, today.plus(-keep.cast_signed())).await?;
            session.commit().await?;
            Ok((records, buckets))
        })
        .await
    }

    /// Removes what is known of when the service ran before any look-back. Returns how many starts that was.
    pub async fn purge_service_runs(&self) -> Result<u64> {
        let today = self.clock.now().day();
        let before = today.plus(-self.longest_reach().cast_signed()).start();
        Ok(store::runs::purge(self.store.write(), before).await?)
    }

    /// How many days back the calculation of some group may look.
    fn longest_reach(&self) -> u32 {
        let reach = |g: &Arc<PublishedGroup>| g.options.lookback_days + g.options.decay_unit_days;
        self.published_groups().iter().map(reach).max().unwrap_or(0)
    }

    /// Brings dated capacities of a back-fill (§5). What the service observed itself stands. Returns
    /// how many days that changed.
    pub async fn give_capacities(
        self: &Arc<Self>,
        caller: Caller,
        group: &str,
        mut days: BTreeMap<Day, Amounts>,
    ) -> Result<u64> {
        caller.require_admin()?;
        let (service, group) = (Arc::clone(self), group.to_owned());
        detached(async move {
            let mut session = Session::open(&service, &group).await?;
            let calendar = session.state().ledger.calendar();
            days.retain(|day, capacity| {
                calendar.get(*day).is_none_or(|known| match known.source {
                    CapacitySource::Observed => false,
                    CapacitySource::Given => *known.capacity != *capacity,
                    CapacitySource::Nearest => true,
                })
            });
            let Some(first) = days.keys().next() else { return Ok(0) };
            session.load_buckets_of(*first).await?;
            let count = days.len() as u64;
            session.state_mut().ledger.give_capacities(days);
            session.recompute_histories().await?;
            let change = super::audit::Change {
                caller: &caller,
                action: "capacities.give",
                target: group.clone(),
                before: None,
                after: Some(json!({"days": count})),
                reason: None,
            };
            session.audit(change).await?;
            session.commit().await?;
            Ok(count)
        })
        .await
    }
}

/// Projects may have moved to another domain in another group's ingest.
async fn refresh_projects(session: &mut Session) -> Result<()> {
    let stored = store::people::projects(session.tx()).await?;
    let moved: Vec<_> = stored.into_iter().filter(|p| session.state().projects.get(&p.id) != Some(p)).collect();
    for project in moved {
        let state = session.state_mut();
        let id = project.id;
        let mut new = Vec::new();
        if state.hierarchy.projects.contains_key(&id) {
            let domain: Arc<str> = Arc::from(project.domain_name.as_str());
            new = state.move_project(id, &domain);
        }
        if let Some(name) = &project.display_name {
            state.project_names.insert(id, Arc::from(name.as_str()));
        }
        state.projects.insert(id, project);
        session.share_changed(new);
    }
    Ok(())
}

/// One run over the group's unsettled kernels.
struct Pass {
    group: String,
    policy: GapPolicy,
    max_gap_hours: u32,
    downtimes: Vec<Span>,
    added: Increments,
    removed: Increments,
    gaps: BTreeMap<usize, GapTally>,
    occupancy: HashMap<UserId, Amounts, foldhash::fast::FixedState>,
    done: Aggregated,
}

#[derive(Default)]
struct GapTally {
    kernels: u64,
    recorded: Usages,
    dropped: Usages,
}

impl Pass {
    fn new(session: &Session) -> Self {
        let options = &session.state().options;
        let shortest = u64::from(options.slice_interval_seconds) * MICROS_PER_SECOND.unsigned_abs();
        Self {
            group: session.state().group.name.clone(),
            policy: options.gap_policy,
            max_gap_hours: options.max_gap_hours,
            downtimes: session.service().downtimes(shortest),
            added: Increments::default(),
            removed: Increments::default(),
            gaps: BTreeMap::new(),
            occupancy: HashMap::default(),
            done: Aggregated::default(),
        }
    }

    /// Records the slices of every unsettled kernel, and moves its cursor.
    async fn scan(&mut self, session: &mut Session) -> Result<()> {
        let now = session.now;
        let leads = session.state().group.recorded_until.is_none_or(|until| until <= now);
        let mut source = Source::new(session);
        let mut kept = Some(BTreeMap::new());
        let (mut progress, mut records) = (Progress::default(), Vec::new());
        let group = self.group.clone();
        loop {
            // The database takes the records of one part while those of the next are made.
            let insert = store::records::insert(session.tx(), &group, &records);
            let (inserted, next) = futures::future::join(insert, self.record(session, &mut source)).await;
            inserted?;
            let part;
            (part, records) = next?;
            let last = part.is_empty();
            for mut kernel in part {
                match kernel.advance(now) {
                    Advance::Settled => {
                        progress.settled.push(kernel.id);
                        continue;
                    }
                    Advance::Moved if !leads => progress.behind.push(kernel.id),
                    Advance::Moved if !kernel.in_step => {
                        progress.in_step.push(kernel.id);
                        kernel.in_step = true;
                    }
                    Advance::Moved | Advance::Stayed => {}
                }
                if let Some(kept) = &mut kept {
                    kept.insert(kernel.id, kernel);
                }
            }
            kept = kept.filter(|k| k.len() <= MOST_AT_HAND);
            if last || progress.count() >= MOVES {
                store::kernels::advance(session.tx(), &self.group, &std::mem::take(&mut progress), now).await?;
            }
            if last {
                break;
            }
        }
        let state = session.state_mut();
        state.keep_unsettled(kept);
        state.occupancy = std::mem::take(&mut self.occupancy);
        if leads {
            state.group.recorded_until = Some(now);
            session.update().recorded_until = Some(now);
        }
        self.store_gaps(session).await
    }

    /// Makes the records of the next kernels: of so many that neither grows without bound.
    async fn record(&mut self, session: &Session, source: &mut Source) -> Result<(Vec<Unsettled>, Vec<Record>)> {
        let (mut part, mut records) = (Vec::new(), Vec::new());
        while part.len() < PART
            && records.len() < PART
            && let Some(kernel) = source.next(session).await?
        {
            self.done.kernels += 1;
            if kernel.over_recorded() {
                self.correct(session, &kernel).await?;
            } else {
                self.slice(session, &kernel, &mut records);
            }
            if kernel.phase == Phase::Running {
                self.occupancy.entry(kernel.owner.user).or_default().add(&kernel.slots);
            }
            part.push(kernel);
            if part.len() % KERNELS_BETWEEN_YIELDS == 0 {
                tokio::task::yield_now().await;
            }
        }
        self.done.slices_created += records.len() as u64;
        Ok((part, records))
    }

    fn slice(&mut self, session: &Session, kernel: &Unsettled, records: &mut Vec<Record>) {
        let run = Run {
            now: session.now,
            gap_policy: self.policy,
            max_gap_hours: self.max_gap_hours,
            downtimes: &self.downtimes,
        };
        let planned = slice::plan(kernel.started_at, kernel.terminated_at, kernel.cursor, &run);
        let Some(slices) = planned else { return };
        for span in slices.recorded().flat_map(Span::by_day) {
            let usage = kernel.slots.for_micros(span.micros());
            self.added.add(kernel.owner, &kernel.domain, span.start.day(), &usage);
            records.push(Record {
                kernel: kernel.id,
                session: kernel.session,
                owner: kernel.owner,
                domain: kernel.domain.to_string(),
                span,
                usage,
            });
        }
        if slices.spanned_downtime {
            self.tally_gap(kernel, &slices);
        }
    }

    fn tally_gap(&mut self, kernel: &Unsettled, slices: &slice::Slices) {
        let slots = &kernel.slots;
        let from = kernel.cursor.unwrap_or(kernel.started_at);
        let Some(whole) = Span::new(from, slices.cursor) else { return };
        let spanned = slice::overlapping(&self.downtimes, whole);
        let within = |spans: &mut dyn Iterator<Item = Span>, window: Option<Span>| {
            spans.filter_map(|s| s.overlap(window?)).map(Span::micros).sum::<u64>()
        };
        for at in spanned.clone() {
            let downtime = self.downtimes[at];
            // What max_gap_hours drops beside the downtime shows in the gap before it, or in the first.
            let from = if at == spanned.start { whole.start } else { downtime.start };
            let until = if at + 1 < spanned.end { self.downtimes[at + 1].start } else { whole.end };
            let tally = self.gaps.entry(at).or_default();
            tally.kernels += 1;
            tally.recorded.add(&slots.for_micros(within(&mut slices.recorded(), Some(downtime))));
            tally.dropped.add(&slots.for_micros(within(&mut slices.dropped.iter().copied(), Span::new(from, until))));
        }
        if self.policy == GapPolicy::Interpolate && !slices.dropped.is_empty() {
            let hours = slices.dropped.iter().map(|s| s.micros()).sum::<u64>() as f64 / 3.6e9;
            tracing::warn!(group = self.group, kernel = %kernel.id, hours, "large gap: hours beyond max_gap_hours dropped");
        }
    }

    async fn store_gaps(&mut self, session: &Session) -> Result<()> {
        for (at, tally) in std::mem::take(&mut self.gaps) {
            let gap = Gap {
                id: 0,
                downtime: self.downtimes[at],
                handled_at: session.now,
                policy: self.policy.as_str().to_owned(),
                kernels: tally.kernels,
                recorded_usage: tally.recorded,
                dropped_usage: tally.dropped,
            };
            store::runs::add_gap(session.tx(), &self.group, &gap).await?;
            self.done.gaps += 1;
        }
        Ok(())
    }

    /// Takes back what was recorded past the end of a kernel whose end was reported late.
    async fn correct(&mut self, session: &Session, kernel: &Unsettled) -> Result<()> {
        let Some(end) = kernel.terminated_at else { return Ok(()) };
        for record in store::records::past_end(session.tx(), kernel.id, end).await? {
            self.done.slices_corrected += 1;
            store::records::delete(session.tx(), &record).await?;
            let domain: Arc<str> = Arc::from(record.domain.as_str());
            let day = record.span.start.day();
            let kept = Span::new(record.span.start, end);
            let mut removed = Daily { usage: record.usage.clone(), records: 1 };
            if let Some(span) = kept {
                // The same amounts over a shorter time: what was used divides exactly, it was a product.
                let usage = record.usage.map(|u| u.mean_over(record.span.micros())).for_micros(span.micros());
                removed.usage.subtract(&usage);
                removed.records = 0;
                let shortened = Record { span, usage, ..record };
                store::records::insert(session.tx(), &self.group, &[shortened]).await?;
            }
            self.removed.add_daily(kernel.owner, &domain, day, &removed);
        }
        Ok(())
    }

    /// Books the sums in buckets, folding chains again where the days do not simply follow.
    async fn book(mut self, session: &mut Session) -> Result<Aggregated> {
        let first = [self.added.first_day(), self.removed.first_day()].into_iter().flatten().min();
        if let Some(first) = first {
            let unit = session.state().options.decay_unit_days;
            session.load_chains_of(first).await?;
            let records_from = session.state().group.records_from;
            let state = session.state_mut();
            let refold = heavy(|| {
                let mut refold = state.ledger.retract(&self.removed, records_from);
                for (entity, day) in state.ledger.apply(&self.added, unit, records_from) {
                    refold.entry(entity).and_modify(|d| *d = day.min(*d)).or_insert(day);
                }
                refold
            });
            refold_entities(session, refold).await?;
        }
        self.done.buckets_updated = session.state().ledger.changes().upserts.len() as u64;
        Ok(self.done)
    }
}
