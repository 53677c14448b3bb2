//! The policy that a replay tries out: a sequencer, options and weights.

use std::collections::BTreeMap;

use crate::ids::Owner;
use crate::options::{FairShareOptions, SequenceMode};
use crate::sequencer::Sequencer;
use crate::sequencer::progressive::ProgressiveSequence;
use crate::share_tree::WeighingTerms;
use crate::weight::Weight;

/// The rules by which a resource group orders and accounts.
#[derive(Clone, Debug)]
pub struct ReplayPolicy {
    pub name: String,
    pub sequencer: Sequencer,
    pub options: FairShareOptions,
    pub weights: BTreeMap<Owner, Weight>,
}

impl ReplayPolicy {
    /// True if the order depends on what runs record: usage, or the capacity of the day, by which progressive orders charge.
    pub fn reads_runs(&self) -> bool {
        self.progressive().is_some() || self.sequencer.compares_usage() || self.sequencer.share_rule().is_some()
    }

    /// The terms by which shares are weighed.
    pub fn weighing_terms(&self) -> WeighingTerms {
        WeighingTerms { default_weight: self.options.default_weight, rule: self.sequencer.share_rule() }
    }

    /// The progressive form of the order; `None` if the order is plain.
    pub fn progressive(&self) -> Option<&'static dyn ProgressiveSequence> {
        self.sequencer.progressive().filter(|_| self.options.sequence_mode == SequenceMode::Progressive)
    }
}
