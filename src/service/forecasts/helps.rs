//! Changes of a waiting workload, tried to see which would let it start earlier.

use super::answer::HelpfulChange;
use super::live_input::{ForecastBase, OrderedWaiting, draws_for};
use crate::domain::forecast::{ForecastInput, InputChange, StartForecast, StartPercentiles, limited_queues_of};
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};
use crate::engine::work::run_blocking;
use crate::service::reported_workloads::{assessed_workloads, queue_of};
use crate::service::visible_group::VisibleGroup;
use crate::service::{Result, Service};

/// The number of draws for each change, as each is a forecast of its own.
const MAX_DRAWS: u32 = 32;
/// The number of other queues that are tried.
const MAX_QUEUES: usize = 8;

/// The changes, each with its name in answers.
const CHANGES: [(&str, InputChange); 3] = [
    ("half_slots", InputChange::HalfSlots),
    ("half_time", InputChange::HalfTime),
    ("next_in_priority", InputChange::NextInOrder),
];

/// The gain from which on a change helps: the time in microseconds, and the part of the wait, of a hundred. Smaller ones are chance.
const MIN_GAIN_MICROS: i64 = 60 * MICROS_PER_SECOND;
const MIN_GAIN_PERCENT: i64 = 5;

impl Service {
    /// The changes with which the workload would start earlier than as it is, each by itself. Empty where none is found, where too
    /// little is known of run times, and where forecasts are not shown.
    pub(in crate::service) async fn find_helps(&self, group: &VisibleGroup, id: &str) -> Result<Vec<HelpfulChange>> {
        if self.newest_forecasts(group).await?.is_some_and(|newest| newest.quality.is_too_low()) {
            return Ok(Vec::new());
        }
        let kernels = self.live_kernels(group.published()).await?;
        // The past is read with the permit, because it may be long.
        let _permit = self.permits.acquire(group.access().client()).await?;
        let now = self.clock().now();
        let past = self.known_past(group, now).await?;
        run_blocking(|| {
            let assessed = assessed_workloads(group.published(), &kernels);
            let base = ForecastBase { service: self, group, assessed: &assessed, past: &past, now };
            let mut ordered = base.order()?;
            let found = ordered.workloads.iter().position(|at| *assessed.workloads[*at].id == *id);
            let place = found.or_else(|| {
                // A workload that cannot start as it is may start once it asks for less.
                let unfit = assessed.workloads.binary_search_by(|workload| (*workload.id).cmp(id)).ok()?;
                ordered.workloads.push(unfit);
                Some(ordered.workloads.len() - 1)
            });
            Ok(place.map(|place| changes_that_help(&base, &ordered, place)).unwrap_or_default())
        })
    }
}

/// True if the start with a change is earlier than the present one, by more than chance.
fn is_earlier(changed: StartPercentiles, present: Option<StartPercentiles>, now: Timestamp) -> bool {
    present.is_none_or(|present| {
        let wait = present.p50.micros().saturating_sub(now.micros());
        let gain = present.p50.micros().saturating_sub(changed.p50.micros());
        gain >= MIN_GAIN_MICROS && gain.saturating_mul(100) >= wait.saturating_mul(MIN_GAIN_PERCENT)
    })
}

fn changes_that_help(base: &ForecastBase, ordered: &OrderedWaiting, place: usize) -> Vec<HelpfulChange> {
    let (seed, draws) = (base.seed(), draws_for(ordered.workloads.len()).min(MAX_DRAWS));
    let input = base.input(ordered);
    let forecast = |input: &ForecastInput, place: usize| input.forecast_one(place, seed, draws);
    let present = forecast(&input, place).and_then(StartForecast::known);
    let mut helps = Vec::new();
    let mut add = |change: &'static str, queue: Option<&str>, changed: Option<StartForecast>| {
        let Some(start) = changed.and_then(StartForecast::known) else { return };
        if is_earlier(start, present, base.now) {
            let StartPercentiles { p10, p50, p90 } = start;
            helps.push(HelpfulChange { change, queue: queue.map(str::to_owned), p10, p50, p90, as_of: base.now });
        }
    };
    let with = |change: InputChange| input.changed(place, change).and_then(|(place, input)| forecast(&input, place));
    for (name, change) in CHANGES {
        add(name, None, with(change));
    }
    // Users do not see queues, and a queue without a limit is no better than another one.
    if base.group.access().only_user().is_none() && !input.queue_limits.is_empty() {
        let facts = base.group.facts();
        let own = queue_of(facts, &base.assessed.workloads[ordered.workloads[place]]);
        for queue in facts.queues.keys().filter(|name| ***name != *own).take(MAX_QUEUES) {
            add("queue", Some(queue), with(InputChange::InQueues(limited_queues_of(&facts.queues, queue))));
        }
    }
    helps
}
