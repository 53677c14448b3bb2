//! Half-life decay (FAIR_SHARE §6). A decay kind is one file here and one line in [`KINDS`].

mod continuous;
mod flat;
mod slurm;

use std::fmt;
use std::str::FromStr;

use super::choices::NamedChoice;

/// A function that decreases the weight of a bucket with its age.
trait DecayKind: Sync {
    /// The value of the `decay` option.
    fn name(&self) -> &'static str;

    /// The decay in one sentence.
    fn summary(&self) -> &'static str;

    /// The weight in 0..=1 of a bucket that is `age_days` old.
    fn weight(&self, age_days: u32, half_life_days: u32) -> f64;
}

static KINDS: &[&dyn DecayKind] = &[&flat::FlatDecay, &continuous::ContinuousDecay, &slurm::SlurmDecay];

/// The name of the decay that Slurm's usage has, which its sequencers expect.
pub const SLURM_DECAY: &str = "slurm";

/// A registered decay kind.
#[derive(Clone, Copy)]
pub struct RegisteredDecay(&'static dyn DecayKind);

impl RegisteredDecay {
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// The weight in 0..=1 of a bucket that is `age_days` old.
    pub fn weight(self, age_days: u32, half_life_days: u32) -> f64 {
        self.0.weight(age_days, half_life_days)
    }

    /// The legal values of the `decay` option.
    pub fn choices() -> Vec<NamedChoice> {
        KINDS.iter().map(|kind| NamedChoice { name: kind.name(), summary: kind.summary() }).collect()
    }
}

impl Default for RegisteredDecay {
    fn default() -> Self {
        Self(KINDS[0])
    }
}

impl FromStr for RegisteredDecay {
    type Err = ();
    fn from_str(name: &str) -> Result<Self, ()> {
        KINDS.iter().find(|k| k.name() == name).map(|k| Self(*k)).ok_or(())
    }
}

impl PartialEq for RegisteredDecay {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}
impl Eq for RegisteredDecay {}

impl fmt::Debug for RegisteredDecay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
