//! Brings a state up to a moment: the capacity observed until then, the run times that count, and the usage that follows
//! from the buckets (FAIR_SHARE §5, §7).

use super::state::{GroupState, LastCalculation};
use crate::domain::factor::HistoryDecayer;
use crate::domain::hierarchy::Hierarchy;
use crate::domain::ids::Owner;
use crate::domain::ledger::Ledger;
use crate::domain::options::FairShareOptions;
use crate::domain::time::{Day, TimeSpan, Timestamp};
use crate::engine::error::Result;
use crate::engine::work::run_blocking;
use crate::store::{self, ConnectionTrait, StreamTrait};

/// All histories are calculated once more than one in four users changes, because calculating all is done in parallel and
/// takes less time then.
const CALCULATE_ALL_DIVISOR: usize = 4;

/// A moment of the service's clock.
#[derive(Clone, Copy, Debug)]
pub struct ClockMoment {
    pub now: Timestamp,
    /// `now`, or the latest trusted time while the clock is not trusted.
    pub trusted_time: Timestamp,
    /// The time since which the service has observed capacities.
    pub started_at: Option<Timestamp>,
}

impl GroupState {
    /// Counts the time since the last observation at the capacity that the group had. A group without agents observes no
    /// capacity, but its time of observation advances.
    pub async fn observe_capacity(
        &mut self,
        db: &(impl ConnectionTrait + StreamTrait),
        moment: ClockMoment,
    ) -> Result<()> {
        let now = moment.trusted_time;
        let since = self.group.capacity_observed_at;
        if !self.agents.is_empty() {
            let span = since.and_then(|t| TimeSpan::new(moment.started_at.map_or(t, |s| t.max(s)), now));
            let first_change = span.map_or(now, |s| s.start).day();
            self.load_buckets_of(db, first_change, moment.now.day()).await?;
            self.ledger.observe_capacity(span, now.day(), &self.capacity);
        }
        self.group.capacity_observed_at = Some(since.map_or(now, |t| t.max(now)));
        Ok(())
    }

    /// Loads every bucket whose capacity a change from `day` on may touch. The first capacity of a group applies to all its
    /// buckets, so that all are loaded then.
    pub async fn load_buckets_of(
        &mut self,
        db: &(impl ConnectionTrait + StreamTrait),
        day: Day,
        today: Day,
    ) -> Result<()> {
        let knows_capacity = self.ledger.calendar().days().next().is_some();
        let first = if knows_capacity {
            self.first_bucket_of(db, day).await?.min(self.options.window_start(today))
        } else {
            Day::MIN
        };
        self.load_back_to(db, first).await
    }

    /// True if the run times of the state are those since `from`.
    pub fn knows_run_times(&self, from: Day) -> bool {
        self.group.run_times_made && self.run_times_from() == Some(from)
    }

    /// Reads the data that a calculation as of `now` needs. Returns the owners whose run times have changed.
    pub async fn prepare(
        &mut self,
        db: &(impl ConnectionTrait + StreamTrait),
        now: Timestamp,
        recount: bool,
    ) -> Result<Vec<Owner>> {
        // A clock that jumped back, or a longer look-back, brings older buckets into the window.
        let from = self.options.window_start(now.day());
        self.load_back_to(db, from).await?;
        if !recount {
            return Ok(Vec::new());
        }
        let times = store::run_times::sums_since(db, self.group.key, from).await?;
        Ok(self.hierarchy.take_run_times(&times))
    }

    /// Calculates decayed usage where it may have changed. The factors follow when the hierarchy is weighed. Returns the
    /// owners whose history changed.
    pub fn calculate(&mut self, now: Timestamp) -> Vec<Owner> {
        run_blocking(|| {
            let histories = self.begin_calculation(now);
            histories.take(&self.ledger, &mut self.hierarchy, &self.options)
        })
    }

    /// Calculates the usage over capacity of every bucket. The histories are left to be calculated: those of owners whose
    /// buckets changed, or all histories if the day or an option that affects them has changed.
    pub fn begin_calculation(&mut self, now: Timestamp) -> PendingHistories {
        if self.ledger.has_unsettled_capacities() {
            self.ledger.settle_capacities();
        }
        let today = now.day();
        let last = self.calculation.as_ref().filter(|last| last.lookback_end == today);
        let others_unchanged = last.is_some_and(|last| !last.options.changes_factors(&self.options));
        let normalized_days_stand = last.is_some_and(|last| !last.options.changes_normalized_days(&self.options));
        let all_change = !others_unchanged || !normalized_days_stand || !self.has_normalized_days;
        self.has_normalized_days = true;
        self.group.calculated_at = Some(now);
        self.group.calculated_with = Some(self.options.to_json());
        self.calculation = Some(LastCalculation {
            at: now,
            lookback_start: self.options.window_start(today),
            lookback_end: today,
            options: self.options.clone(),
        });
        let Self { ledger, hierarchy, options, .. } = self;
        // A simulation copies the ledger that it shares with the writers only if this changes something.
        let is_normalized = ledger.is_normalized(&options.resource_weights);
        let stale = if is_normalized { Vec::new() } else { ledger.normalize(&HistoryDecayer::new(options, today)) };
        let most_change = stale.len() > hierarchy.users().len() / CALCULATE_ALL_DIVISOR;
        PendingHistories { today, stale: (!all_change && !most_change).then_some(stale) }
    }
}

/// Histories that are still to be calculated. The state treats them as calculated already.
#[must_use]
#[derive(Debug)]
pub struct PendingHistories {
    today: Day,
    /// The owners whose histories change; `None`: all owners.
    stale: Option<Vec<Owner>>,
}

impl PendingHistories {
    /// Calculates the histories. The buckets and options must be as they were at [`GroupState::begin_calculation`]. Returns
    /// the owners whose history changed.
    pub fn take(self, ledger: &Ledger, hierarchy: &mut Hierarchy, options: &FairShareOptions) -> Vec<Owner> {
        let decayer = HistoryDecayer::new(options, self.today);
        match self.stale {
            Some(stale) => hierarchy.take_histories(stale, |owner| ledger.history(owner, &decayer)),
            None => hierarchy.take_all_histories(|owner| ledger.history(owner, &decayer)),
        }
    }
}
