//! The algorithms of the division. Each is one file here, with its options, and one line in `algorithms!`.

mod drf;
mod min_share;
mod proportion;
mod quota_over_quota;

pub use min_share::{LeafLevel, MinShareLeaves, MinShareRule, WorkloadDemand};
pub use quota_over_quota::Rounding;

use crate::choices::NamedChoice;
use crate::decimal::Amount;
use crate::division::score_weights::ScoreOptions;
use crate::division::trace::DivisionTrace;
use crate::division::tree::QueueTree;
use crate::division::tree::grid::QueueSlotGrid;
use crate::division::tree::warning::DivisionWarning;
use crate::flat::{FlatPart, flat_object};
use crate::option_facts::OptionFacts;

/// The result of a division.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DivisionResult {
    /// The amount that each queue deserves, by queue and slot.
    pub fair_share: QueueSlotGrid<Amount>,
    /// The capacity that the roots do not use, by slot.
    pub remaining: Vec<Amount>,
    /// Ratios by queue; only from algorithms that divide one ratio instead of slots.
    pub ratios: Option<Vec<MinShareRatios>>,
    pub warnings: Vec<DivisionWarning>,
}

/// The single ratios of a queue under `min_share` (DIVISION §3), each from 0 to 1 of the group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinShareRatios {
    pub usage: Amount,
    pub demand: Amount,
    pub fair_share: Amount,
    pub guaranteed: Amount,
}

/// The weight of a queue that its share depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightSource {
    Weight,
    OverQuotaWeight,
    Neither,
}

/// An algorithm of the division: a pure function of the tree (with its capacity) and the options.
pub trait DivisionAlgorithm: Sync {
    fn name(&self) -> &'static str;

    /// The division in one sentence.
    fn summary(&self) -> &'static str;

    fn divide(&self, tree: &QueueTree, options: &DivisionOptions, trace: &mut DivisionTrace) -> DivisionResult;

    /// The weight that the algorithm uses for the queue. The linter asks for it.
    fn weighs(&self, _tree: &QueueTree, _options: &DivisionOptions, _queue: usize) -> WeightSource {
        WeightSource::Weight
    }

    /// True if minimum shares count. The linter asks for it.
    fn reads_min_shares(&self) -> bool {
        false
    }

    /// True if guarantees count. The linter asks for it.
    fn keeps_guarantees(&self, _options: &DivisionOptions) -> bool {
        false
    }
}

macro_rules! algorithms {
    ($($file:ident: $name:ident,)*) => {
        static ALGORITHMS: &[&dyn DivisionAlgorithm] = &[$(&$file::$name),*];

        /// The facts about the options of each algorithm, with the algorithm's name.
        pub fn algorithm_options() -> Vec<(&'static str, Vec<OptionFacts>)> {
            vec![$(($file::$name.name(), <$file::Options as FlatPart>::facts())),*]
        }

        flat_object! {
            /// The options of every algorithm and of the order by score, as one object.
            pub struct DivisionOptions as "DivisionOptions" {
                $(pub $file: $file::Options,)*
                pub score: ScoreOptions,
            }
        }
    };
}

// A new algorithm is a file, which holds its options too, and a line here.
algorithms! {
    quota_over_quota: QuotaOverQuota,
    min_share: MinShare,
    proportion: ProportionDivision,
    drf: DrfDivision,
}

impl DivisionOptions {
    /// True if the historical usage of queues counts (DIVISION §2.5).
    pub fn reads_usage(&self) -> bool {
        !self.quota_over_quota.history_gain.is_zero()
    }
}

pub fn algorithm(name: &str) -> Option<&'static dyn DivisionAlgorithm> {
    ALGORITHMS.iter().copied().find(|a| a.name() == name)
}

pub fn algorithm_names() -> impl Iterator<Item = &'static str> {
    ALGORITHMS.iter().map(|a| a.name())
}

/// All algorithms, each with its sentence.
pub fn algorithm_choices() -> Vec<NamedChoice> {
    ALGORITHMS.iter().map(|algorithm| NamedChoice { name: algorithm.name(), summary: algorithm.summary() }).collect()
}

/// The part of `capacity` that the shares of the roots leave.
fn remaining_capacity(tree: &QueueTree, fair_share: &QueueSlotGrid<Amount>) -> Vec<Amount> {
    let rest = |(column, capacity): (usize, &Amount)| {
        let roots = tree.children(None).iter();
        roots.fold(*capacity, |rest, root| rest.saturating_sub(fair_share[(*root, column)]))
    };
    tree.capacity.iter().enumerate().map(rest).collect()
}
