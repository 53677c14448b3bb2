//! `slurm`: decay by the second, as Slurm computes it.

use super::{DecayKind, SLURM_DECAY};
use crate::time::SECONDS_PER_DAY;

/// `(1 - 0.693 / half_life) ^ age`, both in seconds. Slurm 22.05 takes 0.693 for the natural logarithm of 2, so that a little
/// more than half is left after a half-life.
pub(super) struct SlurmDecay;

/// The natural logarithm of 2 with the digits that Slurm has of it.
const LN_2_OF_SLURM: f64 = 0.693;

impl DecayKind for SlurmDecay {
    fn name(&self) -> &'static str {
        SLURM_DECAY
    }

    fn summary(&self) -> &'static str {
        "As Slurm: usage loses a little of its weight every day, and a little less than half in a half-life."
    }

    fn weight(&self, age_days: u32, half_life_days: u32) -> f64 {
        let seconds = |days: u32| f64::from(days) * SECONDS_PER_DAY as f64;
        (1.0 - LN_2_OF_SLURM / seconds(half_life_days.max(1))).powf(seconds(age_days))
    }
}
