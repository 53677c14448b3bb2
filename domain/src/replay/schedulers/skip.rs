//! `skip`: every job that fits starts, in order.

use super::ReplayScheduler;
use crate::cycle::BackfillMode;
use crate::replay::simulation::SchedulerRound;

pub(super) struct SkipScheduler;

impl ReplayScheduler for SkipScheduler {
    fn name(&self) -> &'static str {
        "skip"
    }

    fn about(&self) -> &'static str {
        "starts jobs in order, and skips those that do not fit; large jobs may wait for long"
    }

    fn backfill(&self) -> BackfillMode {
        BackfillMode::Skip
    }

    fn round(&self, round: &mut SchedulerRound) {
        if !round.any_fits() {
            return;
        }
        for job in round.order() {
            if round.fits(job) {
                round.start(job);
                if !round.any_fits() {
                    return;
                }
            }
        }
    }
}
