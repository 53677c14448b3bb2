//! Changes of a waiting workload, tried to see which would let it start earlier.

use std::sync::Arc;

use super::answer::HelpfulChange;
use super::live_input::{ForecastBase, OrderedWaiting, draws_for};
use crate::domain::forecast::{ForecastInput, InputChange, StartForecast};
use crate::service::group::visible::VisibleGroup;
use crate::service::reported_workloads::{assessed_workloads, queue_of};
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

impl Service {
    /// The changes with which the workload would start earlier than as it is, each by itself. Empty if it does not wait.
    pub(in crate::service) async fn find_helps(&self, group: &VisibleGroup, id: &str) -> Result<Vec<HelpfulChange>> {
        let kernels = self.live_kernels(group.published()).await?;
        let now = self.clock().now();
        let past = self.known_past(group, now).await?;
        let work = || {
            let assessed = assessed_workloads(group.published(), &kernels);
            let base = ForecastBase { service: self, group, assessed: &assessed, past: &past, now };
            let ordered = base.order()?;
            let place = ordered.workloads.iter().position(|at| *assessed.workloads[*at].id == *id);
            Ok(place.map(|place| changes_that_help(&base, &ordered, place)).unwrap_or_default())
        };
        self.permits.run(group.access().key(), work).await
    }
}

fn changes_that_help(base: &ForecastBase, ordered: &OrderedWaiting, place: usize) -> Vec<HelpfulChange> {
    let (seed, draws) = (base.seed(), draws_for(ordered.workloads.len()).min(MAX_DRAWS));
    let input = base.input(ordered, None);
    let forecast = |input: &ForecastInput, place: usize| input.forecast_one(place, seed, draws);
    let present = forecast(&input, place).and_then(StartForecast::known);
    let mut helps = Vec::new();
    let mut add = |change: &'static str, queue: Option<&str>, changed: Option<StartForecast>| {
        let Some(start) = changed.and_then(StartForecast::known) else { return };
        if present.is_none_or(|present| start.p50 < present.p50) {
            let queue = queue.map(str::to_owned);
            helps.push(HelpfulChange { change, queue, p10: start.p10, p50: start.p50, p90: start.p90 });
        }
    };
    for (name, change) in CHANGES {
        let changed = input.changed(place, change).and_then(|(place, input)| forecast(&input, place));
        add(name, None, changed);
    }
    // Users do not see queues, and a queue without a limit is no better than another one.
    if base.group.access().only_user().is_none() && !input.queue_limits.is_empty() {
        let facts = base.group.facts();
        let own = queue_of(facts, &base.assessed.workloads[ordered.workloads[place]]);
        let others: Vec<&Arc<str>> = facts.queues.keys().filter(|name| ***name != *own).take(MAX_QUEUES).collect();
        for queue in others {
            add("queue", Some(queue), forecast(&base.input(ordered, Some((place, queue))), place));
        }
    }
    helps
}
