//! `strict`: no job overtakes the first one.

use super::ReplayScheduler;
use crate::cycle::BackfillMode;
use crate::replay::simulation::SchedulerRound;

pub(super) struct StrictScheduler;

impl ReplayScheduler for StrictScheduler {
    fn name(&self) -> &'static str {
        "strict"
    }

    fn about(&self) -> &'static str {
        "starts jobs in order; where the first does not fit, all wait"
    }

    fn backfill(&self) -> BackfillMode {
        BackfillMode::Nothing
    }

    fn round(&self, round: &mut SchedulerRound) {
        while round.any_fits()
            && let Some(first) = round.first()
            && round.fits(first)
        {
            round.start(first);
        }
        round.start_free_jobs();
    }
}
