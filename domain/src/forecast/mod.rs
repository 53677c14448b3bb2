//! Forecasts: when each waiting workload will start (docs/REPLAY.md has how good it is).
//!
//! A forecast is made of draws. Each draw is one possible future: running kernels end after run times that are drawn from what is
//! known of their owners, workloads start in order as far as there is room, and workloads are submitted as they were in the weeks
//! before. The starts of a workload in all draws give its percentiles.
//!
//! - `run_time_model` knows how long the jobs of each owner ran, and draws run times.
//! - `submissions` repeats what was submitted in the weeks before.
//! - `cluster` has the room of the agents and the limits of queues.
//! - `share_order` knows how the order of owners changes with what they start.
//! - `waiting_order` has the workloads that wait, in order.
//! - `draw` runs one possible future.
//!
//! `live` makes the input for a group as it is now, and `helps` changes it to see what would help a workload.
//!
//! The draws are made with a seed, so the same input gives the same answer. Amounts are floating-point numbers, because a
//! forecast is an estimate.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating is what is meant")]

mod cluster;
mod draw;
mod helps;
mod live;
mod percentiles;
mod random;
mod run_time_model;
mod share_order;
mod submissions;
mod waiting_order;
mod workload_kinds;

use std::ops::Range;
use std::sync::Arc;

pub use cluster::ForecastAgent;
pub use helps::InputChange;
pub use live::{LiveAgent, LiveGroup, PastWorkload, PresentWorkload, limited_queues_of};
pub(crate) use percentiles::nearest_rank;
pub use percentiles::{StartForecast, StartPercentiles, UnknownStart, median_difference};
pub use run_time_model::{JobClass, RunTimeModel, RunTimeSource};
pub use share_order::{OwnerOrder, OwnerShares};
pub use submissions::PastSubmission;
pub use workload_kinds::{ForecastMember, WorkloadKind};

use self::draw::FutureDraw;
use self::random::RandomDraws;
use crate::cycle::BackfillMode;
use crate::ids::Member;
use crate::slots::SlotAmounts;
use crate::time::Timestamp;

/// The most pairs of an agent and members that are alike, so that no group makes a forecast fill the memory.
const MAX_PAIRS: usize = 20_000_000;

/// The number of draws of a forecast.
pub const DRAWS: u32 = 64;

/// A workload that runs, or the members of it that do.
#[derive(Clone, Debug)]
pub struct ForecastRunning {
    pub owner: Member,
    pub started_at: Timestamp,
    /// The run time that its owner announced.
    pub asked_seconds: Option<u32>,
    /// The run time that the scheduler expects.
    pub expected_seconds: Option<u32>,
    /// The agent of each member, as an index in [`ForecastInput::agents`], and the slots that it holds there.
    pub members: Vec<(usize, SlotAmounts)>,
    /// Its queue and those above, as indices in [`ForecastInput::queue_limits`].
    pub queues: Arc<[usize]>,
}

/// A workload that waits or was submitted.
#[derive(Clone, Copy, Debug)]
pub struct ForecastWorkload {
    pub owner: Member,
    /// An index in [`ForecastInput::kinds`].
    pub kind: usize,
    /// As of a [`ForecastRunning`].
    pub asked_seconds: Option<u32>,
    pub expected_seconds: Option<u32>,
}

/// The state from which a forecast begins.
#[derive(Clone, Debug)]
pub struct ForecastInput {
    pub now: Timestamp,
    /// The slots of the group; the size of a job is a part of them.
    pub capacity: SlotAmounts,
    /// One agent with the whole capacity where nothing is known of agents.
    pub agents: Vec<ForecastAgent>,
    /// The limits of each queue. What it holds follows from its running workloads.
    pub queue_limits: Vec<SlotAmounts>,
    /// The different workloads that wait or were submitted.
    pub kinds: Vec<WorkloadKind>,
    pub running: Vec<ForecastRunning>,
    /// In the order of the group.
    pub waiting: Vec<ForecastWorkload>,
    /// The workloads that were submitted in the weeks before, in the order of submission.
    pub past: Vec<PastSubmission>,
    /// The time since which all submissions are known; `now` if none are.
    pub past_from: Timestamp,
    pub run_times: RunTimeSource,
    pub backfill: BackfillMode,
    pub order: OwnerOrder,
}

impl ForecastInput {
    /// The forecast of each waiting workload.
    pub fn forecast_starts(&self, seed: u64, draws: u32) -> Vec<StartForecast> {
        self.forecast_some(0..self.waiting.len(), seed, draws)
    }

    /// The forecasts of some of the waiting workloads.
    pub fn forecast_some(&self, wanted: Range<usize>, seed: u64, draws: u32) -> Vec<StartForecast> {
        if wanted.is_empty() {
            return Vec::new();
        }
        let all = |reason| vec![StartForecast::Unknown(reason); wanted.len()];
        if self.agents.iter().all(|agent| agent.slots.is_empty()) {
            return all(UnknownStart::NoAgents);
        }
        if !self.run_times.is_sufficient() {
            return all(UnknownStart::FewEndedJobs);
        }
        if self.agents.len() * self.kinds.iter().map(|kind| kind.members.len()).sum::<usize>() > MAX_PAIRS {
            return all(UnknownStart::TooManyEvents);
        }
        let first = FutureDraw::new(self, wanted.clone());
        let (mut starts, mut is_cut) = (vec![Vec::with_capacity(draws as usize); wanted.len()], false);
        for number in 0..draws {
            let mut draw = first.clone();
            draw.run(&mut RandomDraws::new(seed, number));
            is_cut |= draw.is_cut();
            for (starts, start) in starts.iter_mut().zip(&draw.starts()[wanted.clone()]) {
                starts.push(*start);
            }
        }
        let forecast = |(waiting, starts): (&ForecastWorkload, Vec<Option<i64>>)| {
            if !first.can_ever_fit(waiting.kind) {
                return StartForecast::Unknown(UnknownStart::DoesNotFit);
            }
            let otherwise = if is_cut { UnknownStart::TooManyEvents } else { UnknownStart::NothingEnds };
            StartForecast::of_starts(self.now, starts, otherwise)
        };
        self.waiting[wanted].iter().zip(starts).map(forecast).collect()
    }
}
