//! `continuous`: decay by the exact age.

use super::DecayKind;

/// `0.5 ^ (age / half_life)`, as Kueue and `HTCondor` decay.
pub(super) struct ContinuousDecay;

impl DecayKind for ContinuousDecay {
    fn name(&self) -> &'static str {
        "continuous"
    }

    fn summary(&self) -> &'static str {
        "Usage loses a little of its weight every day."
    }

    fn weight(&self, age_days: u32, half_life_days: u32) -> f64 {
        0.5f64.powf(f64::from(age_days) / f64::from(half_life_days.max(1)))
    }
}
