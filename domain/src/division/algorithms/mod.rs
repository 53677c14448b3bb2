//! The algorithms of the division. Each is one file here, with its options, and one line in `algorithms!`.

mod drf;
mod min_share;
mod proportion;
mod quota_over_quota;

pub use quota_over_quota::Rounding;

use crate::choices::Choice;
use crate::decimal::Amount;
use crate::division::score_weights::ScoreOptions;
use crate::division::trace::Trace;
use crate::division::tree::Tree;
use crate::division::tree::grid::Grid;
use crate::division::tree::warning::Warning;
use crate::flat::{Part, flat_object};
use crate::option_facts::OptionFacts;

/// The result of a division.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shares {
    /// The amount that each queue deserves, by queue and slot.
    pub fair_share: Grid<Amount>,
    /// The capacity that the roots do not use, by slot.
    pub remaining: Vec<Amount>,
    /// Ratios by queue; only from algorithms that divide one ratio instead of slots.
    pub ratios: Option<Vec<Ratios>>,
    pub warnings: Vec<Warning>,
}

/// The single ratios of a queue under `min_share` (DIVISION §3), each from 0 to 1 of the group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ratios {
    pub usage: Amount,
    pub demand: Amount,
    pub fair_share: Amount,
    pub guaranteed: Amount,
}

/// The weight of a queue that its share depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighs {
    Weight,
    OverQuotaWeight,
    Neither,
}

/// An algorithm of the division: a pure function of the tree (with its capacity) and the options.
pub trait Algorithm: Sync {
    fn name(&self) -> &'static str;

    /// The division in one sentence.
    fn summary(&self) -> &'static str;

    fn divide(&self, tree: &Tree, options: &Options, trace: &mut Trace) -> Shares;

    /// The weight that the algorithm uses for the queue. The linter asks for it.
    fn weighs(&self, _tree: &Tree, _options: &Options, _queue: usize) -> Weighs {
        Weighs::Weight
    }

    /// True if minimum shares count. The linter asks for it.
    fn reads_min_shares(&self) -> bool {
        false
    }

    /// True if guarantees count. The linter asks for it.
    fn keeps_guarantees(&self, _options: &Options) -> bool {
        false
    }
}

macro_rules! algorithms {
    ($($file:ident: $name:ident,)*) => {
        static ALGORITHMS: &[&dyn Algorithm] = &[$(&$file::$name),*];

        /// The facts about the options of each algorithm, with the algorithm's name.
        pub fn algorithm_options() -> Vec<(&'static str, Vec<OptionFacts>)> {
            vec![$(($file::$name.name(), <$file::Options as Part>::facts())),*]
        }

        flat_object! {
            /// The options of every algorithm and of the order by score, as one object.
            pub struct Options as "DivisionOptions" {
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
    proportion: Proportion,
    drf: Drf,
}

impl Options {
    /// True if the historical usage of queues counts (DIVISION §2.5).
    pub fn reads_usage(&self) -> bool {
        !self.quota_over_quota.history_gain.is_zero()
    }
}

pub fn algorithm(name: &str) -> Option<&'static dyn Algorithm> {
    ALGORITHMS.iter().copied().find(|a| a.name() == name)
}

pub fn algorithm_names() -> impl Iterator<Item = &'static str> {
    ALGORITHMS.iter().map(|a| a.name())
}

/// All algorithms, each with its sentence.
pub fn algorithm_choices() -> Vec<Choice> {
    ALGORITHMS.iter().map(|algorithm| Choice { name: algorithm.name(), summary: algorithm.summary() }).collect()
}

/// The part of `capacity` that the shares of the roots leave.
fn remaining(tree: &Tree, fair_share: &Grid<Amount>) -> Vec<Amount> {
    let rest = |(column, capacity): (usize, &Amount)| {
        let roots = tree.children(None).iter();
        roots.fold(*capacity, |rest, root| rest.saturating_sub(fair_share[(*root, column)]))
    };
    tree.capacity.iter().enumerate().map(rest).collect()
}
