//! The schedulers of a replay: each decides which of the pending jobs start, given their order. A scheduler is one file
//! here and one line in [`SCHEDULERS`].

mod easy;
mod skip;
mod strict;

use super::simulation::SchedulerRound;
use crate::cycle::BackfillMode;

/// A scheduler, which starts jobs in an order.
pub trait ReplayScheduler: Sync {
    fn name(&self) -> &'static str;

    /// A description in one line, for the help text.
    fn about(&self) -> &'static str;

    /// The starts that go on behind a job that does not fit, as forecasts take them.
    fn backfill(&self) -> BackfillMode;

    /// Starts the jobs that can start now.
    fn round(&self, round: &mut SchedulerRound);
}

pub static SCHEDULERS: &[&dyn ReplayScheduler] =
    &[&strict::StrictScheduler, &skip::SkipScheduler, &easy::EasyScheduler];

pub fn by_name(name: &str) -> Option<&'static dyn ReplayScheduler> {
    SCHEDULERS.iter().copied().find(|scheduler| scheduler.name() == name)
}
