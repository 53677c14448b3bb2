//! What a replay tries out: a sequencer, options and weights.

use std::collections::BTreeMap;

use crate::ids::Owner;
use crate::options::{Options, SequenceMode};
use crate::sequencer::{Growing, Sequencer};
use crate::weight::Weight;

/// How a resource group orders and accounts.
#[derive(Clone, Debug)]
pub struct Policy {
    pub name: String,
    pub sequencer: Sequencer,
    pub options: Options,
    pub weights: BTreeMap<Owner, Weight>,
}

impl Policy {
    /// Whether its order follows from what runs have recorded.
    pub fn reads_usage(&self) -> bool {
        self.sequencer.grows() == Some(Growing::Usage)
    }

    /// What its progressive order compares; `None`: its order is plain.
    pub fn growing(&self) -> Option<Growing> {
        let progressive = self.options.sequence_mode == SequenceMode::Progressive;
        self.sequencer.grows().filter(|_| progressive)
    }
}
