//! `flat`: decay by whole half-lives.

use super::DecayKind;

/// One weight for each whole half-life: `0.5 ^ floor(age / half_life)`; 7 days at half-life 7 is period 1.
pub(super) struct FlatDecay;

impl DecayKind for FlatDecay {
    fn name(&self) -> &'static str {
        "flat"
    }

    fn summary(&self) -> &'static str {
        "Usage loses half of its weight at the end of each half-life, all at once."
    }

    fn weight(&self, age_days: u32, half_life_days: u32) -> f64 {
        0.5f64.powi((age_days / half_life_days.max(1)).cast_signed())
    }
}
