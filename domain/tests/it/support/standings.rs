//! Standings for sequencers, given by a test or a bench.

use crate::rules::factor::Exponent;
use crate::rules::ids::{Member, ProjectId, UserId};
use crate::rules::maps::FastMap;
use crate::rules::options::FairshareOrder;
use crate::rules::sequencer::ShareLookup;
use crate::rules::slots::SlotUsages;

#[derive(Default)]
pub struct GivenStandings {
    pub exponents: FastMap<Member, Exponent>,
    pub dominant_shares: FastMap<UserId, f64>,
}

impl ShareLookup for GivenStandings {
    fn exponent(&self, member: Member) -> Exponent {
        self.exponents.get(&member).copied().unwrap_or(Exponent::ZERO)
    }

    fn outer_exponents(&self, _: ProjectId) -> (Exponent, Exponent) {
        (Exponent::ZERO, Exponent::ZERO)
    }

    fn dominant_share(&self, user: UserId) -> f64 {
        self.dominant_shares.get(&user).copied().unwrap_or(0.0)
    }

    /// As if the capacity of the cluster were one of each slot.
    fn dominant_share_with(&self, user: UserId, more: &SlotUsages) -> f64 {
        more.iter().map(|(_, usage)| usage.to_f64()).fold(0.0, f64::max) + self.dominant_share(user)
    }

    fn order(&self) -> FairshareOrder {
        FairshareOrder::Flat
    }
}
