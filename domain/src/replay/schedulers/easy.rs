//! `easy`: EASY backfill. The first job that does not fit has a reservation, and no job that starts earlier may delay
//! it.

use super::ReplayScheduler;
use crate::cycle::BackfillMode;
use crate::replay::simulation::{JobReservation, SchedulerRound};

pub(super) struct EasyScheduler;

impl ReplayScheduler for EasyScheduler {
    fn name(&self) -> &'static str {
        "easy"
    }

    fn about(&self) -> &'static str {
        "backfill: later jobs overtake the first that does not fit, if by the estimates they do not delay it"
    }

    fn backfill(&self) -> BackfillMode {
        BackfillMode::Easy
    }

    fn round(&self, round: &mut SchedulerRound) {
        if !round.any_fits() {
            return;
        }
        let mut reserved: Option<JobReservation> = None;
        for job in round.order() {
            let starts = match &mut reserved {
                None => round.fits(job),
                Some(reservation) => round.fits(job) && reservation.admits(round, job),
            };
            if starts {
                round.start(job);
            } else if reserved.is_none() {
                reserved = Some(round.reservation(job));
            }
            if reserved.is_some() && !round.any_fits() {
                return;
            }
        }
    }
}
