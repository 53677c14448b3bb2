//! Changes of one waiting workload that may let it start earlier.

use std::sync::Arc;

use uuid::Uuid;

use super::{ForecastInput, StartForecast, WorkloadKind};
use crate::decimal::Amount;
use crate::ids::UserId;

/// A change of a workload, made on the input of a forecast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputChange {
    /// Each member asks for half of its slots.
    HalfSlots,
    /// It runs half as long, and announces that.
    HalfTime,
    /// It is the next one in the order.
    NextInOrder,
    /// It counts for other queues, as indices in [`ForecastInput::queue_limits`].
    InQueues(Arc<[usize]>),
}

impl ForecastInput {
    /// The forecast of one waiting workload, by its place among them.
    pub fn forecast_one(&self, place: usize, seed: u64, draws: u32) -> Option<StartForecast> {
        self.forecast_some(place..place + 1, seed, draws).pop()
    }

    /// The same input with a change of the waiting workload at `place`, and its new place. `None`: the change makes no difference.
    pub fn changed(&self, place: usize, change: InputChange) -> Option<(usize, Self)> {
        let mut input = self.clone();
        let workload = input.waiting.get_mut(place)?;
        match change {
            InputChange::HalfSlots => {
                let mut kind = input.kinds[workload.kind].clone();
                for member in &mut kind.members {
                    member.slots = member.slots.map(|amount| Amount::from_units(amount.units().div_ceil(2)));
                }
                workload.kind = input.kinds.len();
                input.kinds.push(kind);
            }
            InputChange::InQueues(queues) => {
                let kind = WorkloadKind { queues, ..input.kinds[workload.kind].clone() };
                workload.kind = input.kinds.len();
                input.kinds.push(kind);
            }
            InputChange::HalfTime => {
                let half = |seconds: u32| seconds.div_ceil(2);
                workload.asked_seconds = workload.asked_seconds.map(half);
                workload.expected_seconds = Some(half(workload.expected_seconds?));
            }
            InputChange::NextInOrder => {
                if place == 0 {
                    return None;
                }
                // An owner who has used nothing comes before all others.
                workload.owner.user = UserId(Uuid::max());
                let workload = input.waiting.remove(place);
                input.waiting.insert(0, workload);
                // It is before new workloads, too.
                let before = u32::try_from(place).unwrap_or(u32::MAX);
                for submission in input.past.iter_mut().filter(|submission| submission.place <= before) {
                    submission.place += 1;
                }
                return Some((0, input));
            }
        }
        Some((place, input))
    }
}
