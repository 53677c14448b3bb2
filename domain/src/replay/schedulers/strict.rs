//! `strict`: no job overtakes the first one.

use super::Starts;
use crate::replay::simulation::Round;

pub(super) struct Strict;

impl Starts for Strict {
    fn name(&self) -> &'static str {
        "strict"
    }

    fn about(&self) -> &'static str {
        "starts jobs in order; where the first does not fit, all wait"
    }

    fn round(&self, round: &mut Round) {
        while round.any_fits()
            && let Some(first) = round.first()
            && round.fits(first)
        {
            round.start(first);
        }
    }
}
